// Plans an agent's actions and files, so that the store can commit them with its answer.
import { hash } from 'node:crypto'
import type {
  ActRefusal,
  AgentAction,
  AgentDelete,
  AgentEdit,
  AgentPost,
  AgentReaction,
  ArtifactPart,
  ChannelName,
  FilePart,
  GivenPart,
  NormalizedResponse,
  Part,
  RefusedAct,
  System,
} from '@postern/message'
import {
  agentActionSchema,
  boundTextMentions,
  givenPartSchema,
  isActRefusal,
  isFilePart,
  isFinalHop,
  isoTime,
  makeId,
  parseInput,
  randomHex,
  refuseAct,
  showNothing,
  toWellFormed,
  Unavailable,
} from '@postern/message'
import type { AgentActions } from '../ports/agent/agent-context.ts'
import type { Channel } from '../ports/channel/channel.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { LinkedFile } from '../ports/records/planned-delivery.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { LookupStore, ResponseRecord } from '../ports/store/lookup-store.ts'
import type { ActingAgent, ActionDeps } from '../ports/turn/action-deps.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { withoutRequirements } from '../requirements/requirements.ts'
import { deliveryPlanOf, refuseBlank, storeFilesFor } from './act-plan.ts'
import { planReply } from './plan-reply.ts'
import { createSyntheticMessage } from './synthetic-message.ts'

/** Plans actions for the commit, with well-formed text. Impossible actions are left out and reported, because they must not hold back an answer. */
export async function planActions(
  actions: readonly AgentAction[],
  actingAgent: ActingAgent,
  deps: ActionDeps,
): Promise<readonly PlannedAction[]> {
  const plannedActions: PlannedAction[] = []
  for (const act of toWellFormed(actions)) {
    const plan = await tryPlan(act, actingAgent, deps)
    if (!isActRefusal(plan)) plannedActions.push(plan)
  }
  return plannedActions
}

/** Plans one action. An error while it is addressed becomes a refusal, so that the other actions still happen. @throws Unavailable */
async function tryPlan(
  act: AgentAction,
  actingAgent: ActingAgent,
  deps: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  const reportingDeps = {
    ...deps,
    onRefused: (refusedAct: RefusedAct) => reportRefusedAct(refusedAct, actingAgent, deps),
  }
  try {
    const plan = await planAction(await resolveActionFiles(act, deps), actingAgent, reportingDeps)
    if (isActRefusal(plan)) reportingDeps.onRefused(toRefusedAct(act, plan))
    return plan
  } catch (error) {
    if (error instanceof Unavailable) throw error
    deps.system.log.error(
      { agent: actingAgent.agent, act: act.act, err: error },
      'an act of an agent cannot be addressed',
    )
    const refusal = refuseAct('unsupported', `Cannot ${act.act}: the gateway failed, and its log has the reason`)
    deps.onRefused?.(toRefusedAct(act, refusal))
    return refusal
  }
}

function reportRefusedAct(refusedAct: RefusedAct, { agent }: ActingAgent, { system, onRefused }: ActionDeps): void {
  system.log.warn({ agent, act: refusedAct.act }, 'an act of an agent cannot be done here')
  onRefused?.(refusedAct)
}

/** Describes a refused action for the record of the turn. */
function toRefusedAct(act: AgentAction, { refused: _, ...refusal }: ActRefusal): RefusedAct {
  const via = act.act === 'post' ? act.via : undefined
  return { act: act.act, ...(via !== undefined && { via }), ...refusal }
}

async function resolveActionFiles(act: AgentAction, { store }: ActionDeps): Promise<AgentAction> {
  return 'parts' in act ? { ...act, parts: [...(await resolveFiles(act.parts, store))] } : act
}

/** Refuses impossible actions while the agent still runs, as far as the gateway can know them by then. */
interface ActionChecker {
  checkPost(act: AgentPost): ActRefusal | undefined
  /** Returns the refusal of an action; undefined if the action is possible. @throws Unavailable */
  check(act: AgentAction): Promise<ActRefusal | undefined>
  /** The plans of possible posts, by their ids, so that they are not planned again. */
  readonly plans: ReadonlyMap<string, PlannedAction>
}

export function createActionChecker(actingAgent: ActingAgent, deps: ActionDeps): ActionChecker {
  const { onRefused: _, ...silentDeps } = deps
  const plans = new Map<string, PlannedAction>()
  return {
    plans,
    checkPost(act) {
      const plan = planPost(toWellFormed(act), actingAgent, deps)
      if (isActRefusal(plan)) return plan
      // The store knows stored files and correspondents, so such a post is planned at the end of the turn.
      const needsStore = act.parts.some(isReference) || needsLookup(act, deps)
      if (act.id !== undefined && !needsStore) plans.set(act.id, plan)
      return undefined
    },
    async check(act) {
      const plan = await planAction(toWellFormed(act), actingAgent, silentDeps)
      return isActRefusal(plan) ? plan : undefined
    },
  }
}

function needsLookup({ via }: AgentPost, { channels }: ActionDeps): boolean {
  return via !== undefined && findChannel(channels, via)?.actions?.findCorrespondents !== undefined
}

function planAction(
  act: AgentAction,
  actingAgent: ActingAgent,
  deps: ActionDeps,
): Promise<PlannedAction | ActRefusal> | PlannedAction | ActRefusal {
  if (act.act === 'post') return deps.plannedActions?.get(act.id ?? '') ?? planNewPost(act, actingAgent, deps)
  if (act.act === 'reply') return planReply(act, actingAgent, deps)
  return act.act === 'edit' || act.act === 'delete'
    ? planRevision(act, actingAgent, deps)
    : planReaction(act, actingAgent, deps)
}

/** Refuses an action that its channel cannot do, if the channel itself gives no reason. */
function refuseUnable(act: string, { descriptor }: Channel): ActRefusal {
  const channel = descriptor.name
  return act === 'post'
    ? refuseAct('unsupported', `Cannot post by ${channel}: this channel takes no such posts. Name another one in "via"`)
    : refuseAct('unsupported', `Cannot ${act} by ${channel}: this channel has no way to do it`)
}

function planPost(
  act: AgentPost,
  { agent, address, via, chain }: ActingAgent,
  deps: ActionDeps,
  correspondents?: ReadonlySet<string>,
): PlannedAction | ActRefusal {
  const { system } = deps
  if (showNothing(act.parts)) return refuseBlank('post')
  const channel = act.via ? findChannel(deps.channels, act.via) : findPoster(deps, via)
  if (!channel) return refuseAct('unsupported', describeNoPoster(act, deps))
  const { id = makeId(system), visibility, subject } = act
  // The last agent of a chain must not call another agent, whatever the action (MN-8.3).
  const mentions = isFinalHop(chain) ? undefined : act.mentions
  const { parts, blobs } = storeFilesFor(channel, withoutRequirements(act.parts), deps)
  // A post begins a conversation, so nobody takes part in it yet.
  const textMentions = boundTextMentions(parts, deps.findAgent?.(agent)?.mentions)
  const response: NormalizedResponse = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender: address,
    parts,
    status: 'completed',
    ...(mentions && { mentions }),
    ...(textMentions && { text_mentions: textMentions }),
    ...(visibility && { visibility }),
    ...(subject !== undefined && { subject }),
    created_at: isoTime(system.now()),
  }
  const action = { act: 'post', agent, response, ...(chain && { chain }) } as const
  const addressing = act.via
    ? channel.actions?.addressDirectMessage?.(action, correspondents)
    : channel.actions?.address?.(action)
  if (!addressing) return refuseUnable('post', channel)
  if (isActRefusal(addressing)) return addressing
  if (addressing.refusal) deps.onRefused?.(toRefusedAct(act, addressing.refusal))
  const { rendering, isListed, aliases } = addressing
  const answer = { response, aliases, blobs, rendering, isListed, ...deliveryPlanOf(addressing) }
  const { in_reply_to, created_at } = response
  const scope = addressing.scope ?? (isListed ? 'public' : in_reply_to)
  const draft = { agent, address, channel: channel.descriptor, scope, threadSource: id }
  const syntheticMessage = createSyntheticMessage({ ...draft, id: in_reply_to, at: created_at, flag: 'post' })
  return { kind: 'post', syntheticMessage, answer }
}

/** Plans a post whose recipients may have to be looked up. */
async function planNewPost(
  act: AgentPost,
  actingAgent: ActingAgent,
  deps: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  const channel = act.via === undefined ? undefined : findChannel(deps.channels, act.via)
  const correspondents = await channel?.actions?.findCorrespondents?.(actingAgent.agent, act.mentions ?? [])
  return planPost(act, actingAgent, deps, correspondents ?? new Set())
}

function describeNoPoster({ via }: AgentPost, { channels }: ActionDeps): string {
  const openChannels = channels.map(({ descriptor }) => descriptor.name).join(', ') || 'none'
  if (via === undefined) return `Cannot post: no open channel has posts. Open channels: ${openChannels}`
  return `Cannot post by ${via}: there is no such channel, or it is closed. Open channels: ${openChannels}`
}

async function planRevision(
  act: AgentEdit | AgentDelete,
  { agent }: ActingAgent,
  deps: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  if (act.act === 'edit' && showNothing(act.parts)) return refuseBlank('edit')
  const errorPrefix = `Cannot ${act.act} ${JSON.stringify(act.response)}`
  const storedResponse = await deps.store.findResponse(act.response)
  if (!storedResponse || storedResponse.agent !== agent)
    return refuseAct('no_recipient', `${errorPrefix}: this agent has no answer or post with this id`)
  if (storedResponse.retractedAt !== undefined)
    return refuseAct('no_recipient', `${errorPrefix}: it was deleted before`)
  const channel = findChannel(deps.channels, storedResponse.via)
  if (!channel) return refuseAct('unsupported', `${errorPrefix}: its channel (${storedResponse.via}) is closed`)
  const revision =
    act.act === 'edit'
      ? reviseResponse(storedResponse, { parts: act.parts, channel }, deps)
      : { response: storedResponse.response, blobs: [] }
  const { message, target, rendering } = storedResponse
  const id = randomHex(deps.system, 8)
  const at = isoTime(deps.system.now())
  const action = { act: act.act, agent, id, at, response: revision.response, message, target, rendering }
  const addressing = channel.actions?.address?.(action) ?? refuseUnable(act.act, channel)
  if (isActRefusal(addressing)) return addressing
  const deliveryPlan = deliveryPlanOf(addressing)
  return act.act === 'edit'
    ? { kind: 'edit', ...revision, deliveryPlan }
    : { kind: 'delete', response: act.response, deliveryPlan }
}

function reviseResponse(
  storedResponse: ResponseRecord,
  { parts, channel }: Pick<AgentEdit, 'parts'> & { readonly channel: Channel },
  deps: ActionDeps,
) {
  const storedFiles = storeFilesFor(channel, withoutRequirements(parts), deps)
  const { text_mentions: storedMentions, ...response } = storedResponse.response
  const textMentions = boundTextMentions(
    storedFiles.parts,
    deps.findAgent?.(storedResponse.agent)?.mentions,
    storedMentions,
  )
  const textMentionsMember = textMentions && { text_mentions: textMentions }
  return { response: { ...response, parts: storedFiles.parts, ...textMentionsMember }, blobs: storedFiles.blobs }
}

async function planReaction(
  { act, message = '' }: AgentReaction,
  actingAgent: ActingAgent,
  { store, channels, system }: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  const id = message || (actingAgent.message ?? '')
  const receivedMessage = await store.findMessageTo(actingAgent.agent, id)
  if (!receivedMessage)
    return refuseAct('no_recipient', `Cannot ${act} ${JSON.stringify(id)}: this agent got no message with this id`)
  const channel = findChannel(channels, receivedMessage.via)
  if (!channel)
    return refuseAct('unsupported', `Cannot ${act}: the channel of the message (${receivedMessage.via}) is closed`)
  const at = isoTime(system.now())
  const addressing =
    channel.actions?.address?.({ act, agent: actingAgent.agent, target: receivedMessage.target, at }) ??
    refuseUnable(act, channel)
  if (isActRefusal(addressing)) return addressing
  return { kind: 'react', message: receivedMessage.message, deliveryPlan: deliveryPlanOf(addressing) }
}

function findPoster({ channels }: ActionDeps, via: ChannelName | undefined): Channel | undefined {
  const postingChannels = channels.filter(channel => channel.actions?.address !== undefined)
  return postingChannels.find(({ descriptor }) => descriptor.name === via) ?? postingChannels[0]
}

/** The actions of an agent in a turn, collected until its answer is committed. */
export interface ActionList extends AgentActions {
  readonly actions: readonly AgentAction[]
  readonly plans?: ActionChecker['plans'] | undefined
}

/** The maximum number of actions in one turn. An agent that does more has a bug. */
const maxActionsPerTurn = 50

/** Creates the list of a turn's actions. With `checker`, the agent learns at once of an impossible action, and an impossible post is not collected. */
export function createActionList(
  system: Pick<System, 'now' | 'randomBytes'>,
  checker?: ActionChecker & Pick<ActionDeps, 'onRefused'>,
): ActionList {
  const actions: AgentAction[] = []
  function add(action: AgentAction): Promise<ActRefusal | undefined> {
    if (actions.length >= maxActionsPerTurn)
      throw new Error(`an agent may do at most ${maxActionsPerTurn} things in one turn`)
    const act = parseInput(agentActionSchema, action, 'the act')
    actions.push(act)
    const refusal = checker && act.act !== 'post' ? checker.check(act) : Promise.resolve(undefined)
    // An agent need not await this promise, and an unhandled rejection would end the process.
    refusal.catch(() => undefined)
    return refusal
  }
  return {
    actions,
    plans: checker?.plans,
    post(content, options) {
      const id = makeId(system)
      const act = { ...options, act: 'post', id, parts: toParts(content) } as const
      const refusal = checker?.checkPost(parseInput(agentActionSchema, act, 'the post') as AgentPost)
      if (refusal) {
        checker?.onRefused?.(toRefusedAct(act, refusal))
        return refusal
      }
      void add(act)
      return id
    },
    async reply(thread, content) {
      const id = makeId(system)
      return (await add({ act: 'reply', id, thread, parts: toParts(content) })) ?? id
    },
    edit: (response, content) => add({ act: 'edit', response, parts: toParts(content) }),
    delete: response => add({ act: 'delete', response }),
    react: (reaction, message) => add({ act: reaction, message }),
  }
}

/** Reads the content that an agent gives: a string is Markdown. @throws Error for an invalid part */
export function toParts(content: string | readonly GivenPart[]): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', mime: 'text/markdown', content }]
  return content.map(part => parseInput(givenPartSchema, part, 'a part'))
}

/**
 * Returns the parts of an answer with files that every channel can send. A stored file gets its size. A file that is not stored here becomes its
 * `url`, or a line of text if it has none. Text parts stay unchanged.
 */
export async function resolveFiles(
  parts: readonly Part[],
  store: Pick<LookupStore, 'findBlob'>,
): Promise<readonly Part[]> {
  if (!parts.some(isReference)) return parts
  return Promise.all(parts.map(part => (isReference(part) ? resolveReference(part, store) : part)))
}

type Reference = (FilePart | ArtifactPart) & { readonly bytes_ref: { readonly kind: 'content_addressed' } }

function isReference(part: Part): part is Reference {
  return isFilePart(part) && part.bytes_ref.kind === 'content_addressed'
}

async function resolveReference(part: Reference, store: Pick<LookupStore, 'findBlob'>): Promise<Part> {
  const { bytes_ref, name = 'A file', size } = part
  const blob = await store.findBlob(bytes_ref.digest)
  if (blob) return { ...part, size: size ?? blob.bytes.length }
  const { url } = bytes_ref
  if (url !== undefined) return { ...part, bytes_ref: { kind: 'url', url } }
  return { kind: 'text', mime: 'text/plain', content: `\n\n${name}: this file is not stored here.` }
}

/** The maximum number of files that are fetched for one message. */
const maxFiles = 4

/**
 * Stores the files to which a message links, because the links may soon be dead. A file that cannot be fetched stays a link. Returns the parts with
 * the stored files.
 */
export async function storeLinkedFiles(
  turn: Turn,
  turnContext: TurnContext,
  signal: AbortSignal,
): Promise<readonly Part[]> {
  const { parts, sender } = turn.content
  const urls = parts.flatMap(part =>
    part.kind === 'file' && part.bytes_ref.kind === 'url' ? [part.bytes_ref.url] : [],
  )
  const { fetchFile, store, channels } = turnContext
  // Chat users upload files that should be stored, so the agent itself follows the links that they write.
  const isFromChat = findChannel(channels, turn.content.received_via)?.descriptor.speaker.isChat
  if (!fetchFile || !sender.verified || urls.length === 0 || isFromChat) return parts
  const fetchedFiles = await Promise.all(
    [...new Set(urls)].slice(0, maxFiles).map(url => fetchLinkedFile(url, turn, { ...turnContext, signal })),
  )
  const files = fetchedFiles.flat()
  if (files.length > 0) await store.attachFiles(turn, files)
  return replaceStoredLinks(parts, files)
}

async function fetchLinkedFile(
  url: string,
  { correlationId }: Turn,
  { fetchFile, system, signal }: Pick<TurnContext, 'fetchFile' | 'system'> & { readonly signal: AbortSignal },
): Promise<readonly LinkedFile[]> {
  try {
    const file = await fetchFile?.(url, signal)
    return file ? [{ ...file, url, digest: hash('sha256', file.bytes) }] : []
  } catch (error) {
    signal.throwIfAborted()
    system.log.info({ correlation_id: correlationId, err: error }, 'a file of a message cannot be fetched')
    return []
  }
}

/** Returns the parts with links to stored files replaced by their digests. */
export function replaceStoredLinks(parts: readonly Part[], files: readonly LinkedFile[]): readonly Part[] {
  const byUrl = new Map(files.map(file => [file.url, file]))
  return parts.map((part): Part => {
    const file = part.kind === 'file' && part.bytes_ref.kind === 'url' ? byUrl.get(part.bytes_ref.url) : undefined
    if (!file || part.kind !== 'file') return part
    const { digest, mime, bytes } = file
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
    return { ...part, ...(mime !== undefined && { mime }), size: bytes.byteLength, bytes_ref }
  })
}
