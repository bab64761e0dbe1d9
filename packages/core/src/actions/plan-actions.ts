import { hash } from 'node:crypto'
import { Unavailable } from '../format/errors.ts'
import { collapseCalls } from '../history/history.ts'
import { isFinalHop } from '../message/address/address.ts'
import type { AgentAction, AgentDelete, AgentEdit, AgentPost, AgentReaction } from '../message/agent-action.ts'
import { agentActionSchema } from '../message/agent-action.ts'
import type { ChannelName } from '../message/message.ts'
import type { ArtifactPart, FilePart, Part } from '../message/part.ts'
import type { NormalizedResponse } from '../message/response.ts'
import { isFilePart } from '../message/response.ts'
import type { AgentActions } from '../ports/agent/agent.ts'
import type { ActingAgents, ActionDeps, StoredFiles, TurnContext } from '../ports/agent/turn-context.ts'
import type { Addressing, Channel } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import type { FoundResponse, LookupStore } from '../ports/lookup-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime, makeId, randomHex } from '../ports/platform/platform.ts'
import type { KeptFile } from '../ports/records/planned-delivery.ts'
import type { Planned, PlannedAction, Turn } from '../ports/records/work.ts'
import { withoutRequirements } from '../requirements/requirements.ts'
import { createSyntheticMessage } from './synthetic-message.ts'

/** Prepares actions for the commit. Impossible ones are left out and logged: they must not hold back an answer. */
export async function planActions(
  acts: readonly AgentAction[],
  acting: ActingAgents,
  gateway: ActionDeps,
): Promise<readonly PlannedAction[]> {
  const planned: PlannedAction[] = []
  for (const act of acts) {
    const plan = await tryPlan(act, acting, gateway)
    if (plan) planned.push(plan)
  }
  return planned
}

/** A channel that cannot address an act is no reason to keep the others back. @throws Unavailable */
async function tryPlan(
  act: AgentAction,
  acting: ActingAgents,
  gateway: ActionDeps,
): Promise<PlannedAction | undefined> {
  const fields = { agent: acting.agent, act: act.act }
  try {
    const plan = await planAction(await withFiles(act, gateway), acting, gateway)
    if (!plan) gateway.platform.log.warn(fields, 'an act of an agent cannot be done here')
    return plan
  } catch (error) {
    if (error instanceof Unavailable) throw error
    gateway.platform.log.error({ ...fields, err: error }, 'an act of an agent cannot be addressed')
    return undefined
  }
}

async function withFiles(act: AgentAction, { store }: ActionDeps): Promise<AgentAction> {
  return 'parts' in act ? { ...act, parts: [...(await settleFiles(act.parts, store))] } : act
}

function planAction(
  act: AgentAction,
  acting: ActingAgents,
  gateway: ActionDeps,
): Promise<PlannedAction | undefined> | PlannedAction | undefined {
  if (act.act === 'post') return planPost(act, acting, gateway)
  return act.act === 'edit' || act.act === 'delete'
    ? planRevision(act, acting, gateway)
    : planReaction(act, acting, gateway)
}

function planPost(
  act: AgentPost,
  { agent, address, via, chain }: ActingAgents,
  gateway: ActionDeps,
): PlannedAction | undefined {
  const { platform } = gateway
  const channel = act.via ? findChannel(gateway.channels, act.via) : findPoster(gateway, via)
  if (!channel) return undefined
  const { id = makeId(platform), visibility, subject } = act
  // The last agent of a chain calls no other agent, by any action (MN-8.3).
  const mentions = isFinalHop(chain) ? undefined : act.mentions
  const { parts, blobs } = storeFilesFor(channel, withoutRequirements(act.parts), gateway)
  const response: NormalizedResponse = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender: address,
    parts,
    status: 'completed',
    ...(mentions && { mentions }),
    ...(visibility && { visibility }),
    ...(subject !== undefined && { subject }),
    created_at: isoTime(platform.now()),
  }
  const action = { act: 'post', agent, response, ...(chain && { chain }) } as const
  const addressing = act.via ? channel.addressDirectMessage?.(action) : channel.addressAction?.(action)
  if (!addressing) return undefined
  const { rendering, isListed, aliases } = addressing
  const answer = { response, aliases, blobs, rendering, isListed, ...toPlanned(addressing) }
  const { in_reply_to, created_at } = response
  const scope = addressing.scope ?? (isListed ? 'public' : in_reply_to)
  const place = { agent, address, channel: channel.descriptor, scope, threadId: id }
  const synthetic = createSyntheticMessage({ ...place, id: in_reply_to, at: created_at, flag: 'post' })
  return { kind: 'post', synthetic, answer }
}

async function planRevision(
  act: AgentEdit | AgentDelete,
  { agent }: ActingAgents,
  gateway: ActionDeps,
): Promise<PlannedAction | undefined> {
  const found = await gateway.store.findResponse(act.response)
  if (!found || found.agent !== agent || found.retractedAt !== undefined) return undefined
  const channel = findChannel(gateway.channels, found.via)
  const revised = act.act === 'edit' ? reword(found, act, gateway, channel) : { response: found.response, blobs: [] }
  const { message, target, rendering } = found
  const id = randomHex(gateway.platform, 8)
  const at = isoTime(gateway.platform.now())
  const action = { act: act.act, agent, id, at, response: revised.response, message, target, rendering }
  const addressing = channel?.addressAction?.(action)
  if (!addressing) return undefined
  const planned = toPlanned(addressing)
  return act.act === 'edit'
    ? { kind: 'edit', ...revised, planned }
    : { kind: 'delete', response: act.response, planned }
}

function reword(found: FoundResponse, { parts }: AgentEdit, gateway: ActionDeps, channel: Channel | undefined) {
  const stored = storeFilesFor(channel, withoutRequirements(parts), gateway)
  return { response: { ...found.response, parts: stored.parts }, blobs: stored.blobs }
}

async function planReaction(
  { act, message = '' }: AgentReaction,
  acting: ActingAgents,
  { store, channels, platform }: ActionDeps,
): Promise<PlannedAction | undefined> {
  const found = await store.findMessageTo(acting.agent, message || (acting.message ?? ''))
  const channel = found && findChannel(channels, found.via)
  const at = isoTime(platform.now())
  const addressing = found && channel?.addressAction?.({ act, agent: acting.agent, target: found.target, at })
  return addressing && { kind: 'react', message: found.message, planned: toPlanned(addressing) }
}

function findPoster({ channels }: ActionDeps, via: ChannelName | undefined): Channel | undefined {
  const posting = channels.filter(channel => channel.addressAction !== undefined)
  return posting.find(({ descriptor }) => descriptor.name === via) ?? posting[0]
}

/**
 * Parts in their stored form: each tool call once. Bytes leave them only on channels that address files; other channels
 * send the bytes along.
 */
export function storeFilesFor(
  channel: Pick<Channel, 'addressesFiles'> | undefined,
  parts: readonly Part[],
  { storeFiles }: Pick<ActionDeps, 'storeFiles'>,
): StoredFiles {
  const whole = collapseCalls(parts)
  return channel?.addressesFiles && storeFiles ? storeFiles(whole) : { parts: [...whole], blobs: [] }
}

export function toPlanned({ deliveries, broadcasts }: Addressing): Planned {
  return { deliveries, ...(broadcasts && { broadcasts }) }
}

/** The actions of an agent in a turn, gathered until its answer is committed. */
export interface ActionList extends AgentActions {
  readonly done: readonly AgentAction[]
}

/** More in one turn is a mistake. */
const maxActions = 50

export function createActionList(platform: Pick<Platform, 'now' | 'randomBytes'>): ActionList {
  const done: AgentAction[] = []
  function add(act: AgentAction): void {
    if (done.length >= maxActions) throw new Error(`an agent may do at most ${maxActions} things in one turn`)
    done.push(agentActionSchema.parse(act))
  }
  return {
    done,
    post(content, options) {
      const id = makeId(platform)
      add({ ...options, act: 'post', id, parts: toParts(content) })
      return id
    },
    edit: (response, content) => add({ act: 'edit', response, parts: toParts(content) }),
    delete: response => add({ act: 'delete', response }),
    react: (reaction, message) => add({ act: reaction, message }),
  }
}

/** A text is markdown. */
export function toParts(content: string | readonly Part[]): Part[] {
  return typeof content === 'string' ? [{ kind: 'text', mime: 'text/markdown', content }] : [...content]
}

/**
 * Files of an answer in a form that every channel can send. Bytes that are not stored here come from their `url`; a
 * line of text replaces a file without one. Stored files get their size. The words stay, whatever happens to a file.
 */
export async function settleFiles(
  parts: readonly Part[],
  store: Pick<LookupStore, 'findBlob'>,
): Promise<readonly Part[]> {
  if (!parts.some(isReference)) return parts
  return Promise.all(parts.map(part => (isReference(part) ? settleReference(part, store) : part)))
}

type Reference = (FilePart | ArtifactPart) & { readonly bytes_ref: { readonly kind: 'content_addressed' } }

function isReference(part: Part): part is Reference {
  return isFilePart(part) && part.bytes_ref.kind === 'content_addressed'
}

async function settleReference(part: Reference, store: Pick<LookupStore, 'findBlob'>): Promise<Part> {
  const { bytes_ref, name = 'A file', size } = part
  const blob = await store.findBlob(bytes_ref.digest)
  if (blob) return { ...part, size: size ?? blob.bytes.length }
  const { url } = bytes_ref
  if (url !== undefined) return { ...part, bytes_ref: { kind: 'url', url } }
  return { kind: 'text', mime: 'text/plain', content: `\n\n${name}: this file is not stored here.` }
}

/** Of one message. */
const mostFiles = 4

/**
 * Keeps what a message points to with the message: where it lies, it may be gone tomorrow. A help, not a condition: what cannot be had stays an
 * address. Gives the parts as they are now.
 */
export async function keepFiles(turn: Turn, turnContext: TurnContext, signal: AbortSignal): Promise<readonly Part[]> {
  const { parts, sender } = turn.content
  const urls = parts.flatMap(part =>
    part.kind === 'file' && part.bytes_ref.kind === 'url' ? [part.bytes_ref.url] : [],
  )
  const { fetchFile, store } = turnContext
  if (!fetchFile || !sender.verified || urls.length === 0) return parts
  const fetched = await Promise.all(
    [...new Set(urls)].slice(0, mostFiles).map(url => fetchOne(url, turn, turnContext, signal)),
  )
  const files = fetched.flat()
  if (files.length > 0) await store.keepFiles(turn, files)
  return pointToKept(parts, files)
}

async function fetchOne(
  url: string,
  { correlationId }: Turn,
  { fetchFile, platform }: TurnContext,
  signal: AbortSignal,
): Promise<readonly KeptFile[]> {
  try {
    const file = await fetchFile?.(url, signal)
    return file ? [{ ...file, url, digest: hash('sha256', file.bytes) }] : []
  } catch (error) {
    signal.throwIfAborted()
    platform.log.info({ correlation_id: correlationId, err: error }, 'a file of a message cannot be had')
    return []
  }
}

/** By digest in the place of an address. */
export function pointToKept(parts: readonly Part[], files: readonly KeptFile[]): readonly Part[] {
  const byUrl = new Map(files.map(file => [file.url, file]))
  return parts.map((part): Part => {
    const file = part.kind === 'file' && part.bytes_ref.kind === 'url' ? byUrl.get(part.bytes_ref.url) : undefined
    if (!file || part.kind !== 'file') return part
    const { digest, mime, bytes } = file
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
    return { ...part, ...(mime !== undefined && { mime }), size: bytes.byteLength, bytes_ref }
  })
}
