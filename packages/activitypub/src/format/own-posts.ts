import type {
  AgentDirectory,
  Delivery,
  Json,
  NormalizedMessage,
  NormalizedResponse,
  Turn,
  Visibility,
} from '@postern/core'
import type { JsonObject } from './document.ts'
import { idsOf, isPublic, typeOf } from './document.ts'

/** The addresses of our own actors and of their documents. */
export function agentIris(origin: string, name: string) {
  const actor = `${origin}/agents/${name}`
  return {
    actor,
    inbox: `${actor}/inbox`,
    outbox: `${actor}/outbox`,
    followers: `${actor}/followers`,
    following: `${actor}/following`,
    featured: `${actor}/featured`,
  }
}

/** A post's id depends on the response alone, so a retried delivery is the same document. */
export function postIri(origin: string, name: string, responseId: string): string {
  return `${agentIris(origin, name).actor}/posts/${responseId}`
}

/** The page of an agent's posts under a tag (without `#`). */
export function tagIri(origin: string, name: string, tag: string): string {
  return `${agentIris(origin, name).actor}/tags/${encodeURIComponent(tag)}`
}

export function activityIri(post: string): string {
  return `${post}/activity`
}

export function instanceActorIri(origin: string): string {
  return `${origin}/actor`
}

const postPath = /^\/agents\/([^/]+)\/posts\/([^/?#]+)(?:\/activity)?$/

/** The agent whose actor this is. */
export function findAgentName(iri: string, agents: Pick<AgentDirectory, 'origin' | 'find'>): string | undefined {
  const prefix = `${agents.origin}/agents/`
  return iri.startsWith(prefix) ? agents.find(iri.slice(prefix.length))?.name : undefined
}

/** The agent and the number in the IRI of an own post; whether that post exists is not checked yet. */
export function parsePostIri(iri: string, { origin }: Pick<AgentDirectory, 'origin'>) {
  const [, agent, id] = (iri.startsWith(`${origin}/`) && postPath.exec(iri.slice(origin.length))) || []
  return agent && id ? { agent, id } : undefined
}

/** The number of the piece in a post's IRI. The first piece has the id of the response alone. */
export function pieceId(responseId: string, piece: number): string {
  return piece === 0 ? responseId : `${responseId}.${piece + 1}`
}

/** The response and the piece that a post's id names. */
export function parsePieceId(id: string): { readonly responseId: string; readonly piece: number } {
  const [, responseId, number] = /^(.+)\.([2-9]|1\d|20)$/.exec(id) ?? []
  return responseId === undefined ? { responseId: id, piece: 0 } : { responseId, piece: Number(number) - 1 }
}

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

/** The posts that a message refers to, the one it answers and the one it quotes, and its sender. */
export function readReferences({ content, target }: Pick<Turn, 'content' | 'target'>) {
  const sender = readReplyTarget(target)
  const isMessage = content.kind === undefined || content.kind === 'message'
  return { parent: isMessage ? content.in_reply_to : undefined, quote: sender.quote, sender }
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

/** One change of a response. */
export interface Revision {
  readonly act: 'edit' | 'delete'
  /** The id of this change alone. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
}

const byWidth: readonly Visibility[] = ['public', 'unlisted', 'followers', 'direct']

/**
 * The audience of a document by its own addressing, as Mastodon reads `to` and `cc`; undefined when it names nobody.
 */
export function readVisibility(json: JsonObject, followers: string | undefined): Visibility | undefined {
  // A chat is between two, whatever it is addressed to (Pleroma, Lemmy, Mbin).
  if (typeOf(json) === 'ChatMessage') return 'direct'
  const to = idsOf(json.to)
  const cc = idsOf(json.cc)
  if (to.some(isPublic)) return 'public'
  if (cc.some(isPublic)) return 'unlisted'
  if (followers && (to.includes(followers) || cc.includes(followers))) return 'followers'
  return to.length + cc.length > 0 ? 'direct' : undefined
}

export function narrower(left: Visibility, right: Visibility): Visibility {
  return byWidth.indexOf(left) > byWidth.indexOf(right) ? left : right
}

/**
 * An answer is never wider than the post it answers. We cannot address the followers of others: there the answer is
 * direct.
 */
export function replyVisibility(original: Visibility, wanted: Visibility | undefined): Visibility {
  const widest = original === 'followers' ? 'direct' : original
  return narrower(widest, wanted ?? widest)
}

/** Whether everyone may read it. */
export function isOpen(visibility: Visibility): boolean {
  return visibility === 'public' || visibility === 'unlisted'
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

/** Only this channel writes it; the store keeps it as JSON. */
export function toRenderingJson(rendering: Rendering): Json {
  return rendering as unknown as Json
}

/** `target`: of the message it answers. Answers from before renderings were stored have nothing else. */
export function readRendering(
  rendering: Json | undefined,
  target: Json,
  { visibility }: Pick<NormalizedResponse, 'visibility'>,
): Rendering {
  if (rendering !== undefined) return rendering as unknown as Rendering
  const reply = readReplyTarget(target)
  return { reply, visibility: replyVisibility(reply.visibility, visibility), pieces: 1 }
}
