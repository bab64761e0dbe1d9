import type { Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage } from '@ag-ui/core'
import type { ChannelName, Json, MentionRelay, OwnThread, OwnThreads } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { ThreadAlias, ThreadKey, TranscriptEntry } from '@postern/transcript'
import type { WebDeps } from './endpoint.ts'
import { maxRead, RunRepeated } from './endpoint.ts'
import type { AskedRun } from './input/read-run-input.ts'
import type { WebOwner } from './verify.ts'

/** A run with the conversation it belongs to. */
interface ResolvedRun {
  /** Undefined for a chat without messages. */
  readonly found: Conversation | undefined
  /** The last entries of the conversation. */
  readonly recent: readonly TranscriptEntry[]
  /** The same without answers of the gateway, which ask nothing and show nothing of an agent. */
  readonly spoken: readonly TranscriptEntry[]
  readonly news: RunNews
}

/** How many stored entries a client's copy is compared with. */
const recentEntries = 400

/** Finds the conversation of a run and what is new in the run. @throws Rejection no_recipient, RunRepeated */
export async function resolveRun(asked: AskedRun, deps: WebDeps): Promise<ResolvedRun> {
  const { owner, agent, input } = asked
  if (await deps.gateway.store.findTask({ owner: owner.owner, id: input.runId })) throw new RunRepeated()
  const found = await findWebConversation({ owner, agent, threadId: input.threadId }, deps)
  const range = { tail: recentEntries, max_bytes: maxRead }
  const recent = found ? await deps.transcript.read(found.thread, range) : []
  const spoken = recent.filter(({ stage }) => stage !== 'gateway')
  return { found, recent, spoken, news: reconcileRun(input, recent) }
}

/** A thread of the chat. `joined` is the conversation of another channel that it continues. */
export interface Conversation {
  readonly thread: ThreadKey
  readonly joined?: JoinedConversation | undefined
}

interface JoinedConversation extends OwnThread {
  readonly mentionRelay: MentionRelay
  /** What an answer needs in order to go there; undefined when the channel cannot answer. */
  findTarget(): Promise<Json | undefined>
}

interface ConversationName {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/**
 * Undefined for a chat without messages. @throws Rejection no_recipient for a conversation of another channel that the person may not read
 * (any more)
 */
export async function findWebConversation(name: ConversationName, deps: WebDeps): Promise<Conversation | undefined> {
  const { owner, agent, threadId } = name
  const elsewhere = parseThreadName(threadId, deps)
  if (elsewhere) return joinConversation(name, elsewhere.id, deps)
  const thread = await findWebThread({ owner: owner.owner, agent, threadId }, deps)
  return thread && { thread }
}

/** Reads the conversation where it is and copies nothing. */
async function joinConversation(
  { owner, agent, threadId }: ConversationName,
  id: number,
  deps: WebDeps,
): Promise<Conversation> {
  const { gateway, transcript } = deps
  const alias = { transport: 'desk', key: String(id) }
  const whose = await listOwnPlaces(owner, agent, deps)
  const own = await gateway.store.findOwnThread(whose, id)
  if (!own || !threadId.startsWith(`${own.via}:`)) {
    const known = await transcript.findThread(owner.owner, alias)
    if (known) await transcript.forget(known)
    throw new Rejection('no_recipient', 'Cannot find thread: there is none of this name')
  }
  const thread = await transcript.openThread(owner.owner, alias)
  const channel = findChannel(gateway.channels, own.via)
  await transcript.bindStore(thread, id, whose.subjects)
  const findTarget = async () => {
    // The person may have been unlinked while their run was being read.
    const target = await gateway.store.readLastTarget(await listOwnPlaces(owner, agent, deps), id)
    return target === undefined ? undefined : channel?.retarget?.(target)
  }
  return { thread, joined: { ...own, mentionRelay: channel?.descriptor.mentionRelay ?? { kind: 'none' }, findTarget } }
}

interface ThreadPlace {
  readonly owner: string
  readonly agent: string
  readonly threadId: string
}

/**
 * The thread of a person with an agent, bound to the store's conversation; undefined when there is none. A thread may have been imported
 * before the first message; the store's messages still belong to it.
 */
export async function findWebThread(
  { owner, agent, threadId }: ThreadPlace,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const alias = aliasOfChat(agent, threadId)
  const conversation = { agent, via: 'web', scope: owner, key: threadId }
  const known = await transcript.findThread(owner, alias)
  // A read writes nothing.
  if (!known && !(await transcript.hasConversation(conversation))) return undefined
  const thread = known ?? (await transcript.openThread(owner, alias))
  const isBound = await transcript.bindStore(thread, conversation)
  if (isBound || known) return thread
  await transcript.forget(thread)
  return undefined
}

/** The thread of a chat whose first message is stored by now. */
export async function openWebThread(
  { owner, agent, threadId }: ThreadPlace,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<void> {
  const thread = await transcript.openThread(owner, aliasOfChat(agent, threadId))
  await transcript.bindStore(thread, { agent, via: 'web', scope: owner, key: threadId })
}

/** The transcript's alias of a chat. */
export function aliasOfChat(agent: string, threadId: string): ThreadAlias {
  return { transport: 'web', key: JSON.stringify([agent, threadId]) }
}

/** What a run adds to a conversation. The gateway does not trust the rest of the client's copy. */
export interface RunNews {
  /** New words of the person, oldest first. */
  readonly said: readonly UserMessage[]
  /** Results of calls that were left to the client. */
  readonly toolResults: readonly (ToolMessage & { readonly call: NonNullable<TranscriptEntry['tool']> })[]
  readonly resume: readonly ResumeEntry[]
  /** Ids of the client's messages that are stored already, or that stand before a stored one. */
  readonly former: ReadonlySet<string>
  readonly warnings: readonly string[]
}

/**
 * Compares the client's messages with the newest `recent` entries of the thread. Messages with a stored id are known. Messages that claim
 * to be of the agent or the gateway are ignored. Pure.
 */
export function reconcileRun({ messages, resume = [] }: RunAgentInput, recent: readonly TranscriptEntry[]): RunNews {
  const known = new Set(recent.flatMap(({ native_id }) => native_id ?? []))
  const pending = findPendingCalls(recent)
  const calls = new Set(recent.flatMap(({ tool }) => tool?.call_id ?? []))
  const lastKnown = messages.findLastIndex(({ id }) => known.has(id))
  const fresh = messages.slice(lastKnown + 1).filter(({ id }) => !known.has(id))
  const toolResults = firstOfEach(messages.filter(message => message.role === 'tool')).flatMap(message => {
    const call = pending.get(message.toolCallId)
    return call ? [{ ...message, call }] : []
  })
  return {
    said: fresh.filter(isUser),
    toolResults,
    resume,
    former: listFormer(messages, [...fresh, ...toolResults]),
    warnings: describeIgnored(fresh.filter(message => !isPiece(message, known, calls))),
  }
}

function listFormer(messages: readonly Message[], counted: readonly Message[]): ReadonlySet<string> {
  const ids = new Set(counted.map(({ id }) => id))
  return new Set(messages.flatMap(({ id }) => (ids.has(id) ? [] : id)))
}

function isUser(message: Message): message is UserMessage {
  return message.role === 'user'
}

function firstOfEach(messages: readonly ToolMessage[]): readonly ToolMessage[] {
  const seen = new Set<string>()
  return messages.filter(({ toolCallId }) => !seen.has(toolCallId) && seen.add(toolCallId))
}

/** Calls that the client runs, by id: in a complete answer, without a result, and without an open approval. */
function findPendingCalls(
  entries: readonly TranscriptEntry[],
): ReadonlyMap<string, NonNullable<TranscriptEntry['tool']>> {
  const pending = new Map<string, NonNullable<TranscriptEntry['tool']>>()
  for (const entry of entries) {
    const { kind, tool } = entry
    if (kind === 'tool_call' && tool && isAnswered(entry)) pending.set(tool.call_id, tool)
    if ((kind === 'tool_result' || kind === 'approval_required') && tool) pending.delete(tool.call_id)
  }
  return pending
}

/** Excludes notes, traces and answers that broke off. */
function isAnswered({ ext, is_incomplete }: TranscriptEntry): boolean {
  return !ext?.store && ext?.normalized?.of !== 0 && !is_incomplete
}

/** The client splits an answer at tool calls: the text after a call is `<answer>-2`, and the call is a message of its own. */
function isPiece(message: Message, known: ReadonlySet<string>, calls: ReadonlySet<string>): boolean {
  if (message.role !== 'assistant') return false
  const { id, toolCalls = [] } = message
  if (known.has(id.replace(/-\d+$/, ''))) return true
  return toolCalls.length > 0 && toolCalls.every(call => calls.has(call.id))
}

const claimedRoles: ReadonlySet<string> = new Set(['assistant', 'system', 'developer', 'reasoning', 'activity'])

function describeIgnored(messages: readonly Message[]): readonly string[] {
  const count = messages.filter(({ role }) => claimedRoles.has(role)).length
  return count === 0 ? [] : [`${count} messages of other roles are not known and were left out`]
}

/** The scopes and subjects of a person: their chats, and their conversations with the agent from linked addresses. */
export async function listOwnPlaces(owner: WebOwner, agent: string, deps: OwnThreadDeps): Promise<OwnThreads> {
  const { isLinking, gateway } = deps
  const identity = { via: 'web', address: owner.address, subject: owner.owner } as const
  const person = isLinking(agent) ? await gateway.store.findPerson(agent, identity) : undefined
  const linked = (person?.addresses ?? []).flatMap(({ via, subject }) =>
    via === 'web' || subject === undefined ? [] : [{ via, subject }],
  )
  const scopes = linked.flatMap(({ via, subject }) => {
    const scope = findChannel(gateway.channels, via)?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
  const own = { via: 'web', scope: owner.owner } as const
  return {
    agent,
    scopes: [own, ...listCalls(owner, deps), ...scopes],
    subjects: [owner.owner, ...linked.map(({ subject }) => subject)],
  }
}

type OwnThreadDeps = Pick<WebDeps, 'isLinking' | 'gateway' | 'scopes'>

/**
 * A caller over another channel is the same person if its token has the same issuer and subject, and if this token may read calls. Tokens
 * that we issue name agents and keys, so they never match.
 */
function listCalls(owner: WebOwner, { gateway: { agents, channels }, scopes }: OwnThreadDeps) {
  const { issuer, subject } = owner
  const isShown = issuer !== agents.origin && allowsAny(owner, [scopes?.GetTask ?? defaultScopes.GetTask])
  if (!isShown) return []
  return channels.flatMap(({ descriptor }) => {
    const scope = descriptor.speaker.scopeOfToken?.(issuer, subject)
    return scope === undefined ? [] : [{ via: descriptor.name, scope }]
  })
}

/** The thread's id in a chat: its own, or the channel and number of a conversation elsewhere. */
export function nameThread({ via, key, id }: Pick<OwnThread, 'via' | 'key' | 'id'>): string {
  return via === 'web' ? key : `${via}:${id}`
}

/** Parses such an id of a conversation elsewhere. No chat has an id of this form. */
export function parseThreadName(
  threadId: string,
  { gateway }: Pick<WebDeps, 'gateway'>,
): { readonly via: ChannelName; readonly id: number } | undefined {
  const [, via, id] = /^([a-z][a-z0-9-]*):([1-9]\d{0,14})$/.exec(threadId) ?? []
  const isOther = gateway.channels.some(({ descriptor }) => descriptor.name === via && !descriptor.speaker.isChat)
  return via !== undefined && isOther ? { via, id: Number(id) } : undefined
}
