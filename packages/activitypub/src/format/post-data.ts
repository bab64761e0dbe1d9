// Defines the data of a post that the store keeps: its reply target, destinations and rendering.
import type { Json, Visibility } from '@postern/message'

/** The data that an answer to a post needs. It is stored with the turn, because rendering happens later and maybe in another process. */
export interface ReplyTarget {
  /** The IRI of the post's author. */
  readonly actor: string
  /** The address `@user@host` of the author. Absent if the host has not confirmed it. */
  readonly address?: string | undefined
  /** The address of the author's page, for the link of the mention. */
  readonly url?: string | undefined
  readonly inbox?: string | undefined
  /** The shared inbox of the author's server. Absent if it is not on the author's own origin. */
  readonly sharedInbox?: string | undefined
  /** The IRI of the post, because `inReplyTo` names objects and not activities. Absent if the answered activity is not a post. */
  readonly object?: string | undefined
  readonly context?: string | undefined
  readonly conversation?: string | undefined
  readonly visibility: Visibility
  readonly summary?: string | undefined
  readonly sensitive?: boolean | undefined
  readonly language?: string | undefined
  /** The IRI of the post that the answered post quotes. Absent if it quotes none. */
  readonly quote?: string | undefined
  /** The type of the activity, if it is one that can be undone. */
  readonly event?: string | undefined
}

/** The destination of a delivery: an inbox, or an address that is looked up at the time of delivery. */
export type DeliveryDestination =
  | {
      readonly inbox: string
      /** The actor that owns the inbox. Absent if the delivery is for several actors. */
      readonly peer?: string | undefined
    }
  | {
      readonly mention: string
      /** True if only the text names this recipient, which may be the name of nobody. A look-up that finds nobody is then ignored. */
      readonly isNamed?: true | undefined
    }

/** The content of a delivery: a part of an answer or post, or an activity of the protocol itself (an `Accept`), which is complete. */
export interface DeliveryContent {
  /** The number of the post within the response. Default: the first. */
  readonly piece?: number | undefined
  /** The change to a post that was delivered before. Absent for a new post. */
  readonly revision?: Revision | undefined
  /** The activity of the protocol itself, such as an `Accept`. Absent for a post. */
  readonly handshake?: Json | undefined
  /** True if the activity announces new keys, so it is signed by the key that peers know already. */
  readonly isIntroduction?: boolean | undefined
  /**
   * True if the activity announces the deletion of its own actor, whose document is no longer served. A peer without a copy of the key cannot
   * verify it, but needs no notice either.
   */
  readonly isFarewell?: true | undefined
  /** The inbox that the broadcast leaves out, because another delivery is sent to it. */
  readonly except?: string | undefined
}

export type DeliveryTarget = DeliveryDestination & DeliveryContent

/** The inboxes through which a follower is reached. */
export interface FollowerTarget {
  readonly inbox: string
  readonly sharedInbox?: string | undefined
}

/** One change of a response. */
export interface Revision {
  readonly act: 'edit' | 'delete'
  /** The id of this change, different for each change. */
  readonly id: string
  /** The time of the change, ISO 8601 UTC. */
  readonly at: string
}

/**
 * The parameters by which a response is rendered as posts. They are fixed at the time of the response and stored with it, so every rendering is
 * the same.
 */
export interface Rendering {
  /** The post that the response answers. Absent for a post that answers none. */
  readonly reply?: ReplyTarget | undefined
  readonly visibility: Visibility
  /** The number of posts into which the response is split. Each post answers the previous post. */
  readonly pieces: number
  /** The maximum number of visible characters of each post. Absent if there is only one post. */
  readonly limit?: number | undefined
  /** The maximum number of people whom the response may mention, including the people whom its text names. If it is absent, the text mentions nobody. */
  readonly callable?: number | undefined
}
