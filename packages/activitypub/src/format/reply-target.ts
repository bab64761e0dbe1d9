import type { Delivery, Json, NormalizedMessage, Visibility } from '@postern/core'
import type { Revision } from './revision.ts'

/**
 * The data that an answer to a post needs. It is stored with the turn, because rendering happens later, maybe in
 * another process.
 */
export interface ReplyTarget {
  /** The post's author. */
  readonly actor: string
  /** `@user@host` when confirmed. */
  readonly address?: string | undefined
  /** The author's page, for the mention's link. */
  readonly url?: string | undefined
  readonly inbox?: string | undefined
  /** Only where it lives on the author's own origin. */
  readonly sharedInbox?: string | undefined
  /** The post itself: `inReplyTo` names objects, not activities. Absent when what is answered is no post. */
  readonly object?: string | undefined
  readonly context?: string | undefined
  readonly conversation?: string | undefined
  readonly visibility: Visibility
  readonly summary?: string | undefined
  readonly sensitive?: boolean | undefined
  readonly language?: string | undefined
  /** Address of the post it quotes. */
  readonly quote?: string | undefined
  /** The type of activity, of what can be undone. */
  readonly event?: string | undefined
}

/** The destination of a delivery: an inbox, or an address that is looked up at the time of delivery. */
export type DeliveryPlace =
  | {
      readonly inbox: string
      /** The owner of the inbox, where it is for one actor. */
      readonly peer?: string | undefined
    }
  | {
      readonly mention: string
      /** Only the words name this recipient, so it is no fault when nobody has the name. */
      readonly isNamed?: true | undefined
    }

/**
 * The part of an answer or post that a delivery carries; or an activity of the protocol itself, complete as it is (an
 * `Accept`).
 */
interface DeliveryContent {
  /** The number of the post within the response; default: the first. */
  readonly piece?: number | undefined
  /** Set when it changes what was delivered before. */
  readonly revision?: Revision | undefined
  readonly handshake?: Json | undefined
  /** It announces new keys, so the keys that peers know sign it. */
  readonly isIntroduction?: boolean | undefined
}

export type DeliveryTarget = DeliveryPlace & DeliveryContent

/** How a follower is reached. */
export interface FollowerTarget {
  readonly inbox: string
  readonly sharedInbox?: string | undefined
}

/** Only this channel writes targets; the store keeps them as JSON. */
export function toJson(target: ReplyTarget | DeliveryTarget | DeliveryContent): Json {
  return target as unknown as Json
}

export function readReplyTarget(json: Json): ReplyTarget {
  return json as unknown as ReplyTarget
}

/** An answer there that only its author reads. */
export function retargetAlone(target: Json): Json | undefined {
  const reply = readReplyTarget(target)
  return reply?.inbox ? toJson({ ...reply, visibility: 'direct' }) : undefined
}

/** The target of an answer to what came by another channel, as if its sender had written a post to the agent alone. */
export function previewReplyTarget({ sender: { address } }: Pick<NormalizedMessage, 'sender'>): Json {
  const [, name = 'sender', host = 'example.org'] = /^@([^@\s]{1,200})@([\w.:-]{1,253})$/.exec(address) ?? []
  const actor = `https://${host}/@${encodeURIComponent(name)}`
  return toJson({ actor, address: `@${name}@${host}`, inbox: `${actor}/inbox`, visibility: 'direct' })
}

/** The data that all deliveries of a broadcast share, beside the data of each one. */
export function readDeliveryTarget({ target, broadcast }: Pick<Delivery, 'target' | 'broadcast'>): DeliveryTarget {
  return { ...(broadcast as object | undefined), ...(target as object) } as DeliveryTarget
}
