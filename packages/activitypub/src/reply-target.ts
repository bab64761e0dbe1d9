import type { Json, Visibility } from '@postern/core'

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

/** One delivery: an answer to the inbox of the author or to somebody it mentions, looked up when it leaves; or a handshake. */
export type DeliveryTarget = InboxTarget | MentionTarget | HandshakeTarget

export interface InboxTarget {
  readonly reply: ReplyTarget
  readonly inbox: string
}

/** An activity of the protocol itself, ready as it is (an `Accept`). */
export interface HandshakeTarget {
  readonly handshake: Json
  readonly inbox: string
}

export interface MentionTarget {
  readonly reply: ReplyTarget
  /** `@user@host`. */
  readonly mention: string
}

/** Targets are written by this room only; the desk keeps them as JSON. */
export function toJson(target: ReplyTarget | DeliveryTarget): Json {
  return target as unknown as Json
}

export function readReplyTarget(json: Json): ReplyTarget {
  return json as unknown as ReplyTarget
}

export function readDeliveryTarget(json: Json): DeliveryTarget {
  return json as unknown as DeliveryTarget
}
