import type { Delivery, Json, Visibility } from '@postern/core'
import type { Revision } from './revision.ts'

/** What answering a post needs, kept with the turn: rendering happens later, maybe in another process. */
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

/** Where a delivery goes: an inbox, or somebody who is looked up when it leaves. */
export type DeliveryPlace =
  | {
      readonly inbox: string
      /** Whose it is, where one actor is meant. */
      readonly peer?: string | undefined
    }
  | {
      readonly mention: string
      /** Only the words name them: it is no fault where there is nobody of this name. */
      readonly isNamed?: true | undefined
    }

/** What of an answer or post a delivery carries; or an activity of the protocol itself, ready as it is (an `Accept`). */
interface DeliveryContent {
  /** Which post of what was said; default: the first. */
  readonly piece?: number | undefined
  /** Set when it changes what was delivered before. */
  readonly revision?: Revision | undefined
  readonly handshake?: Json | undefined
  /** It tells of new keys, and is signed by those that peers know. */
  readonly isIntroduction?: boolean | undefined
}

export type DeliveryTarget = DeliveryPlace & DeliveryContent

/** How a follower is reached. */
export interface FollowerTarget {
  readonly inbox: string
  readonly sharedInbox?: string | undefined
}

/** Targets are written by this room only; the store keeps them as JSON. */
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

/** What all deliveries of a broadcast have in common stands beside what each has for itself. */
export function readDeliveryTarget({ target, broadcast }: Pick<Delivery, 'target' | 'broadcast'>): DeliveryTarget {
  return { ...(broadcast as object | undefined), ...(target as object) } as DeliveryTarget
}
