import type { Act, DeleteAct, EditAct, PostAct, ReactAct } from './act.ts'
import { isFinalHop } from './chain.ts'
import { collapseCalls } from './collapse-calls.ts'
import type { FoundResponse, LookupDesk } from './desk.ts'
import { Unavailable } from './errors.ts'
import type { Blob } from './intake.ts'
import type { AgentChain, ChannelName } from './message.ts'
import { channelNames } from './message.ts'
import { createOccasion } from './occasion.ts'
import type { Part } from './part.ts'
import type { Addressing, Channel } from './protocol.ts'
import type { NormalizedResponse } from './response.ts'
import { withoutDemands } from './settle-demands.ts'
import { settleFiles } from './settle-files.ts'
import type { Planned, PlannedAct } from './work.ts'
import type { World } from './world.ts'
import { isoTime, randomHex } from './world.ts'

/** Who acts. */
export interface Acting {
  readonly agent: string
  /** `@agent@domain` */
  readonly address: string
  /** The message that is being answered, if one is. */
  readonly message?: string | undefined
  /** By which posts go out, where several could. */
  readonly via?: ChannelName | undefined
  /** Of the message that is being answered. */
  readonly chain?: AgentChain | undefined
}

export interface ActHouse {
  readonly desk: Pick<LookupDesk, 'findResponse' | 'findMessageTo' | 'findBlob'>
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>
  findChannel(name: ChannelName): Channel | undefined
  /** Bytes inside of parts, taken out; without it they stay where they are. */
  storeFiles?(parts: readonly Part[]): StoredFiles
}

export interface StoredFiles {
  readonly parts: Part[]
  readonly blobs: readonly Blob[]
}

/** Makes acts ready to be made durable. What cannot be done is left out and logged: it must not keep an answer back. */
export async function planActs(acts: readonly Act[], acting: Acting, house: ActHouse): Promise<readonly PlannedAct[]> {
  const planned: PlannedAct[] = []
  for (const act of acts) {
    const plan = await tryPlan(act, acting, house)
    if (plan) planned.push(plan)
  }
  return planned
}

/** A channel that cannot address an act is no reason to keep the others back. @throws Unavailable */
async function tryPlan(act: Act, acting: Acting, house: ActHouse): Promise<PlannedAct | undefined> {
  const fields = { agent: acting.agent, act: act.act }
  try {
    const plan = await planAct(await withFiles(act, house), acting, house)
    if (!plan) house.world.log.warn(fields, 'an act of an agent cannot be done here')
    return plan
  } catch (error) {
    if (error instanceof Unavailable) throw error
    house.world.log.error({ ...fields, err: error }, 'an act of an agent cannot be addressed')
    return undefined
  }
}

async function withFiles(act: Act, { desk }: ActHouse): Promise<Act> {
  return 'parts' in act ? { ...act, parts: [...(await settleFiles(act.parts, desk))] } : act
}

function planAct(act: Act, acting: Acting, house: ActHouse): Promise<PlannedAct | undefined> | PlannedAct | undefined {
  if (act.act === 'post') return planPost(act, acting, house)
  return act.act === 'edit' || act.act === 'delete'
    ? planRevision(act, acting, house)
    : planReaction(act, acting, house)
}

function planPost(act: PostAct, { agent, address, via, chain }: Acting, house: ActHouse): PlannedAct | undefined {
  const { world } = house
  const channel = act.via ? house.findChannel(act.via) : findPoster(house, via)
  if (!channel) return undefined
  const { id = randomHex(world, 16), visibility, subject } = act
  // The last agent of a chain wakes nobody else, whatever way it takes (MN-8.3).
  const mentions = isFinalHop(chain) ? undefined : act.mentions
  const { parts, blobs } = storeFilesFor(channel, withoutDemands(act.parts), house)
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
    created_at: isoTime(world.now()),
  }
  const deed = { act: 'post', agent, response, ...(chain && { chain }) } as const
  const addressing = act.via ? channel.addressLetter?.(deed) : channel.addressDeed?.(deed)
  if (!addressing) return undefined
  const { rendering, isListed, aliases } = addressing
  const answer = { response, aliases, blobs, rendering, isListed, ...toPlanned(addressing) }
  const { in_reply_to, created_at } = response
  const scope = addressing.scope ?? (isListed ? 'public' : in_reply_to)
  const place = { agent, address, via: channel.name, scope, threadId: id }
  const occasion = createOccasion({ ...place, id: in_reply_to, at: created_at, flag: 'post' })
  return { kind: 'post', occasion, answer }
}

async function planRevision(
  act: EditAct | DeleteAct,
  { agent }: Acting,
  house: ActHouse,
): Promise<PlannedAct | undefined> {
  const found = await house.desk.findResponse(act.response)
  if (!found || found.agent !== agent || found.retractedAt !== undefined) return undefined
  const channel = house.findChannel(found.via)
  const revised = act.act === 'edit' ? reword(found, act, house, channel) : { response: found.response, blobs: [] }
  const { message, target, rendering } = found
  const id = randomHex(house.world, 8)
  const at = isoTime(house.world.now())
  const deed = { act: act.act, agent, id, at, response: revised.response, message, target, rendering }
  const addressing = channel?.addressDeed?.(deed)
  if (!addressing) return undefined
  const planned = toPlanned(addressing)
  return act.act === 'edit'
    ? { kind: 'edit', ...revised, planned }
    : { kind: 'delete', response: act.response, planned }
}

function reword(found: FoundResponse, { parts }: EditAct, house: ActHouse, channel: Channel | undefined) {
  const stored = storeFilesFor(channel, withoutDemands(parts), house)
  return { response: { ...found.response, parts: stored.parts }, blobs: stored.blobs }
}

async function planReaction(
  { act, message = '' }: ReactAct,
  acting: Acting,
  { desk, findChannel, world }: ActHouse,
): Promise<PlannedAct | undefined> {
  const found = await desk.findMessageTo(acting.agent, message || (acting.message ?? ''))
  const channel = found && findChannel(found.via)
  const at = isoTime(world.now())
  const addressing = found && channel?.addressDeed?.({ act, agent: acting.agent, target: found.target, at })
  return addressing && { kind: 'react', message: found.message, planned: toPlanned(addressing) }
}

function findPoster({ findChannel }: ActHouse, via: ChannelName | undefined): Channel | undefined {
  const names = via ? [via, ...channelNames] : channelNames
  return names.map(findChannel).find(channel => channel?.addressDeed !== undefined)
}

/** Parts as they are kept: each tool call once. Bytes leave them only on channels that address files; the others send them along. */
export function storeFilesFor(
  channel: Pick<Channel, 'addressesFiles'> | undefined,
  parts: readonly Part[],
  { storeFiles }: Pick<ActHouse, 'storeFiles'>,
): StoredFiles {
  const whole = collapseCalls(parts)
  return channel?.addressesFiles && storeFiles ? storeFiles(whole) : { parts: [...whole], blobs: [] }
}

export function toPlanned({ deliveries, broadcasts }: Addressing): Planned {
  return { deliveries, ...(broadcasts && { broadcasts }) }
}
