import type { Json, Visibility } from '@postern/core'

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
export interface DeliveryContent {
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

/** One change of a response. */
export interface Revision {
  readonly act: 'edit' | 'delete'
  /** The id of this change alone. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
}

/**
 * The rendering of a response as posts. It is fixed at the time of the response and stored with it, so every rendering
 * is the same.
 */
export interface Rendering {
  /** The post it answers; absent for a post of its own. */
  readonly reply?: ReplyTarget | undefined
  readonly visibility: Visibility
  /** Into how many posts it is divided; each answers the one before. */
  readonly pieces: number
  /** Visible characters one of them holds at most; absent when there is only one. */
  readonly limit?: number | undefined
  /** People it may mention, with those that its words name. Absent: its words mention nobody. */
  readonly callable?: number | undefined
}
