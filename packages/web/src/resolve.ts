import type { ContentPart, Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage } from '@ag-ui/core'
import { omitOptionalNulls } from '@ag-ui/core'
import type { ChannelName, IntakeSteps, OwnThread, Part, RefusalPlace } from '@postern/core'
import { isJsonObject, Rejection } from '@postern/core'
import { lazy } from '@postern/core/lazy'
import type { ThreadAlias, ThreadKey, TranscriptEntry } from '@postern/transcript'
import type { WebAttachments } from './attachments/attachment-store.ts'
import type { WebDeps } from './endpoint.ts'
import { maxRead, RunRepeated } from './endpoint.ts'
import type { PartPlace, ReadContent } from './input/file-parts.ts'
import { nothing, readFilePart } from './input/file-parts.ts'
import type { Conversation, ConversationName } from './threads/own-threads.ts'
import { joinConversation } from './threads/own-threads.ts'
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
  const [repeated, finding] = await Promise.allSettled([
    deps.gateway.store.findTask({ owner: owner.owner, id: input.runId }),
    findWebConversation({ owner, agent, threadId: input.threadId }, deps),
  ])
  if (takeValue(repeated)) throw new RunRepeated()
  const found = takeValue(finding)
  const range = { tail: recentEntries, max_bytes: maxRead }
  const recent = found ? await deps.transcript.read(found.thread, range) : []
  const spoken = recent.filter(({ stage }) => stage !== 'gateway')
  return { found, recent, spoken, news: reconcileRun(input, recent) }
}

/** @throws what it was rejected with */
function takeValue<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
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
    said: fresh.filter(message => message.role === 'user'),
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

/** A run as the client asked for it, before the gateway stores anything. */
export interface AskedRun {
  readonly owner: WebOwner
  readonly agent: string
  readonly input: RunAgentInput
  readonly document: unknown
  /** The checks so far. */
  readonly steps: IntakeSteps
  readonly place: RefusalPlace
}

/** What a client posts to have an agent run, in the words of AG-UI 1.0. */
interface RunRequest {
  readonly input: RunAgentInput
  /** What the gateway did not understand and left out, one sentence each. */
  readonly warnings: readonly string[]
}

/** They are loaded with the first run. */
const loadSchemas = lazy(() => import('@ag-ui/core/schemas'))

const maxName = 256

/** Bounds of a run. They are checked before the schema parses it, which takes seconds for hundreds of thousands of items. */
const mostOf = { messages: 2_000, tools: 512, context: 512, resume: 64 } as const
const mostMembers = 64

/** Of all messages. */
const mostParts = 8_000

const knownMembers: ReadonlySet<string> = new Set([
  'threadId',
  'runId',
  'protocolVersion',
  'parentRunId',
  'state',
  'messages',
  'tools',
  'context',
  'forwardedProps',
  'resume',
])

/** `RunAgentInput` (AG-UI 1.0). Converts the `binary` parts of earlier versions. @throws Rejection malformed, naming the members */
export async function readRunInput(document: unknown): Promise<RunRequest> {
  const warnings: string[] = []
  if (!isJsonObject(document)) throw new Rejection('malformed', 'Cannot run: the body is no JSON object')
  checkCounts(document)
  const unknown = Object.keys(document).filter(name => !knownMembers.has(name))
  if (unknown.length > 0) warnings.push(`unknown members were left out: ${unknown.slice(0, 8).join(', ')}`)
  const known = Object.fromEntries(Object.entries(document).filter(([name]) => knownMembers.has(name)))
  const messages = Array.isArray(document.messages)
    ? document.messages.map(each => translate(each, warnings))
    : undefined
  // Clients of earlier versions send null for absent members.
  const said = omitOptionalNulls({ ...known, ...(messages && { messages }) }, 'RunAgentInput')
  const { RunAgentInputSchema } = await loadSchemas()
  const parsed = RunAgentInputSchema.safeParse({ tools: [], context: [], ...said })
  if (!parsed.success) throw refuse(parsed.error.issues)
  const input = parsed.data as RunAgentInput
  for (const name of ['threadId', 'runId'] as const) checkName(name, input[name])
  for (const [at, { id }] of input.messages.entries()) checkName(`messages.${at}.id`, id)
  return { input, warnings }
}

function checkCounts(document: Record<string, unknown>): void {
  if (Object.keys(document).length > mostMembers) throw refuseCount(mostMembers, 'members')
  for (const [name, most] of Object.entries(mostOf)) {
    const list = document[name]
    if (Array.isArray(list) && list.length > most) throw refuseCount(most, name)
  }
  const messages: readonly unknown[] = Array.isArray(document.messages) ? document.messages : []
  let parts = 0
  for (const message of messages)
    parts += isJsonObject(message) && Array.isArray(message.content) ? message.content.length : 0
  if (parts > mostParts) throw refuseCount(mostParts, 'parts of messages')
}

function refuseCount(most: number, what: string): Rejection {
  return new Rejection('too_large', `Cannot run: more than ${most} ${what}`)
}

function checkName(member: string, value: string): void {
  if (value.length > 0 && value.length <= maxName && value.isWellFormed() && !value.includes('\0')) return
  const description = `must have 1 to ${maxName} characters, and no NUL`
  throw new Rejection('malformed', `Cannot run: ${member} ${description}`, {
    violations: [{ field: member, description }],
  })
}

function refuse(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): Rejection {
  const violations = issues.slice(0, 16).map(({ path, message }) => ({ field: path.join('.'), description: message }))
  return new Rejection('malformed', `Cannot run: ${violations[0]?.field ?? 'body'} is not as it must be`, {
    violations,
  })
}

/** A `binary` part becomes an image, a sound, a video or a document by its type. Without bytes and address it is dropped. */
function translate(message: unknown, warnings: string[]): unknown {
  if (!isJsonObject(message) || !Array.isArray(message.content)) return message
  return { ...message, content: message.content.flatMap(part => translatePart(part, warnings)) }
}

const families: Readonly<Record<string, ContentPart['type']>> = { image: 'image', audio: 'audio', video: 'video' }

function translatePart(part: unknown, warnings: string[]): readonly unknown[] {
  if (!isJsonObject(part) || part.type !== 'binary') return [part]
  const { mimeType, url, data, filename } = part
  const type = families[readMimeType(mimeType).split('/')[0] ?? ''] ?? 'document'
  const named = { ...(typeof filename === 'string' && { metadata: { filename } }) }
  if (typeof url === 'string') return [{ type, source: { type: 'url', value: url, mimeType }, ...named }]
  if (typeof data === 'string') return [{ type, source: { type: 'data', value: data, mimeType }, ...named }]
  warnings.push('a binary part without bytes or address was left out')
  return []
}

/** @throws Rejection malformed */
function readMimeType(value: unknown): string {
  if (value !== undefined && value !== null && typeof value !== 'string') {
    throw refuse([{ path: ['messages', 'content', 'mimeType'], message: 'must be a string' }])
  }
  return value ?? ''
}

/**
 * The content of a user's message as the agent reads it: the user's own files as bytes, every other address as a link. @throws Rejection
 * too_large, unsupported (of bytes that came along)
 */
export async function readContentParts(
  content: Message['content'],
  place: PartPlace,
  attachments: WebAttachments,
): Promise<ReadContent> {
  if (typeof content === 'string') return { parts: writeText(content), blobs: [], warnings: [] }
  const read: ReadContent[] = []
  // One after the other, because all files at once may not fit in memory.
  for (const part of Array.isArray(content) ? content : []) {
    const isText = part.type === 'text'
    read.push(isText ? { ...nothing, parts: writeText(part.text) } : await readFilePart(part, place, attachments))
  }
  return joinContent(read)
}

export function joinContent(read: readonly ReadContent[]): ReadContent {
  return {
    parts: read.flatMap(({ parts }) => parts),
    blobs: read.flatMap(({ blobs }) => blobs),
    warnings: read.flatMap(({ warnings }) => warnings),
  }
}

/** How many files are said: read again in every copy, a large one would fill the memory. */
export function countFiles(contents: readonly Message['content'][]): number {
  const parts = contents.flatMap(content => (Array.isArray(content) ? content : []))
  return parts.filter(part => part.type !== 'text').length
}

function writeText(content: string): readonly Part[] {
  return content === '' ? [] : [{ kind: 'text', mime: 'text/plain', content }]
}

/** Whether it is a client of AG-UI 0.0.x. Clients name their version from 1.0 on. */
export function isEarlierClient({ protocolVersion = '' }: Pick<RunAgentInput, 'protocolVersion'>): boolean {
  return !/^[1-9]\d*(\.|$)/.test(protocolVersion)
}
