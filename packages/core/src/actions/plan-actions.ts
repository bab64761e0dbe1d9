import { Unavailable } from '../format/errors.ts'
import { collapseCalls } from '../history/collapse-calls.ts'
import { isFinalHop } from '../message/address/chain.ts'
import type { AgentAction, AgentDelete, AgentEdit, AgentPost, AgentReaction } from '../message/agent-action.ts'
import type { ChannelName } from '../message/message.ts'
import type { Part } from '../message/part.ts'
import type { NormalizedResponse } from '../message/response.ts'
import type { ActingAgents, ActionDeps, StoredFiles } from '../ports/agent/action-deps.ts'
import type { Addressing, Channel } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import type { FoundResponse } from '../ports/lookup-store.ts'
import { isoTime, makeId, randomHex } from '../ports/platform/platform.ts'
import type { Planned, PlannedAction } from '../ports/records/work.ts'
import { withoutRequirements } from '../requirements/settle-requirements.ts'
import { settleFiles } from './settle-files.ts'
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
