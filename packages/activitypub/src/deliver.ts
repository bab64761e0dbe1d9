import type { Delivery, FetchAnswer, Json, Platform, RelationStore, Transmitted } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { parseRetryAfter, readReply } from '@postern/http'
import type { KeyIntroductions, Recipient } from './actors/key-introductions.ts'
import { introducingKey } from './actors/key-introductions.ts'
import { activityJson, findHost, parseIri } from './format/document.ts'
import type { DeliveryPlace, DeliveryTarget } from './format/own-posts.ts'
import { agentIris, readDeliveryTarget } from './format/own-posts.ts'
import type { DocumentKey, RequestKey } from './keys/key-generations.ts'
import type { KeyRing, ProveOutgoing, SendSigned } from './keys/signing.ts'
import type { IsBlocked, RemoteActor, RemoteActors } from './peers/actors.ts'
import { isBlockedAddress } from './peers/actors.ts'
import type { Handles, PeerLimits } from './peers/host-lookups.ts'
import { findCalled, ownNames } from './posts/address-answer.ts'
import type { Answered, OutgoingActivity } from './posts/render.ts'
import { renderSaid } from './posts/render.ts'
import type { Mentioned } from './words/words.ts'

interface DeliverDeps {
  readonly platform: Pick<Platform, 'now' | 'log'>
  readonly store: Pick<RelationStore, 'findRelation'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly proveOutgoing: ProveOutgoing
  readonly actors: Pick<RemoteActors, 'find'>
  readonly handles: Pick<Handles, 'resolve'>
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly findBytes: FindBytes
  readonly limits: Pick<PeerLimits, 'learn'>
  readonly introductions: KeyIntroductions
  /** Called when an inbox answers that it does not exist (any more). */
  onGone(agent: string, target: DeliveryTarget): void
}

/** For both requests of a double knock together. */
const postMs = 15_000
/** Peers answer 401 and 403 also while they cannot fetch our key: a few tries, then they mean it. */
const maxRefusals = 3
/** For a recipient whom only the words of an answer name: what looks like a name need not be one. */
const maxLookUps = 3
const refusalStatuses: ReadonlySet<number> = new Set([401, 403])
const goneStatuses: ReadonlySet<number> = new Set([404, 410])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Signs and posts an activity to its inbox. Those the answer mentions are looked up first, so that all copies name them.
 * @throws Unavailable, Undeliverable
 */
export async function deliverActivity(
  outgoing: OutgoingActivity,
  delivery: Delivery,
  parts: DeliverDeps,
): Promise<Transmitted> {
  const place = await findInbox(delivery, parts)
  if (!place) return { note: 'the words name somebody who is not there' }
  const { inbox, peer } = place
  const host = findHost(inbox)
  if (!host || parts.isBlocked(host))
    throw new Undeliverable('Cannot deliver: the inbox is blocked or has no https address')
  // An inbox may be on another host than the actor whose it is.
  if (peer && isBlockedAddress(peer, parts.isBlocked))
    throw new Undeliverable('Cannot deliver: whom it is for is blocked')
  const bytes = await parts.findBytes(outgoing, delivery)
  const key = await chooseKey({ inbox, host, peer, agent: delivery.agent }, delivery, parts)
  const body = { bytes, type: activityJson }
  const answer = await parts.send({ method: 'POST', url: inbox, body, timeoutMs: postMs }, key)
  if (goneStatuses.has(answer.status)) parts.onGone(delivery.agent, readDeliveryTarget(delivery))
  checkAnswer(answer, delivery.attempt, parts.platform.now())
  // Next time we shall know how long a post may be there.
  if ((outgoing.said?.answered.rendering.pieces ?? 1) > 1) void parts.limits.learn(host)
  return { note: `answered ${answer.status}`, ...readReply(answer) }
}

/** The newest one, once the host knows it. While an old one is listed, it may have to introduce the new one. */
async function chooseKey(
  to: Recipient,
  delivery: Delivery,
  { keys, introductions, origin }: Pick<DeliverDeps, 'keys' | 'introductions' | 'origin'>,
): Promise<RequestKey> {
  const found = await keys.find(agentIris(origin, to.agent).actor)
  if (readDeliveryTarget(delivery).isIntroduction) {
    introductions.remember(to, found)
    return introducingKey(found)
  }
  if (found.listed.length > 1) await introductions.introduce(to, found)
  return found.request
}

/** The octets of an activity with all its names and the agent's own proof; made once for all the places it goes to, with each key. */
type FindBytes = (outgoing: OutgoingActivity, delivery: Delivery) => Promise<Uint8Array>

interface Made {
  readonly keyId: string
  readonly bytes: Promise<Uint8Array>
}

export function createFindBytes(
  parts: Pick<DeliverDeps, 'keys' | 'proveOutgoing' | 'handles' | 'actors' | 'origin'>,
): FindBytes {
  const known = new WeakMap<OutgoingActivity, Made>()

  async function makeBytes(
    { said, document }: OutgoingActivity,
    delivery: Delivery,
    key: DocumentKey,
  ): Promise<Uint8Array> {
    const mentions = said ? await lookUpMentions(said.answered, delivery, parts) : []
    const named = said && mentions.length > 0 ? renderSaid(said, mentions) : document
    return Buffer.from(JSON.stringify(parts.proveOutgoing(named as Json, key, delivery.queuedAt)))
  }

  return async function findBytes(outgoing, delivery) {
    const { document: key } = await parts.keys.find(agentIris(parts.origin, delivery.agent).actor)
    const earlier = known.get(outgoing)
    const made = earlier?.keyId === key.id ? earlier : { keyId: key.id, bytes: makeBytes(outgoing, delivery, key) }
    known.set(outgoing, made)
    try {
      return await made.bytes
    } catch (error) {
      known.delete(outgoing)
      throw error
    }
  }
}

/** @throws Unavailable later may help; Undeliverable it will not */
export function checkAnswer(
  answer: Pick<FetchAnswer, 'status' | 'headers' | 'body'>,
  attempt: number,
  now: number,
): void {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return
  const replyLine = readReply(answer).reply_line
  const problem = `Cannot deliver: the inbox answered ${status}`
  const isRefused = refusalStatuses.has(status) && attempt < maxRefusals
  const isFault = status >= 500 && status !== 501
  if (!isRefused && !isFault && !waitStatuses.has(status)) throw new Undeliverable(problem, { status, replyLine })
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(problem, { status, replyLine, ...(retryAfter !== undefined && { retryAfter }) })
}

type Inbox = Extract<DeliveryPlace, { readonly inbox: string }>

/** Undefined where only the words of the answer name the recipient, and nobody has that name. */
async function findInbox(delivery: Delivery, parts: DeliverDeps): Promise<Inbox | undefined> {
  const target = readDeliveryTarget(delivery)
  if ('inbox' in target) return target
  try {
    return await findMentionedInbox(delivery, target, parts)
  } catch (error) {
    const isOver = error instanceof Undeliverable || (error instanceof Unavailable && delivery.attempt >= maxLookUps)
    if (target.isNamed && isOver) return undefined
    throw error
  }
}

async function findMentionedInbox(
  { agent }: Delivery,
  target: Extract<DeliveryPlace, { readonly mention: string }>,
  parts: DeliverDeps,
): Promise<Inbox> {
  const actor = await findMentioned(target, parts)
  const key = { via: 'activitypub', agent, relation: 'blocked_by', peer: actor.id } as const
  if (await parts.store.findRelation(key))
    throw new Undeliverable('Cannot deliver: the one mentioned has blocked the agent')
  if (!actor.inbox) throw new Undeliverable('Cannot deliver: the one mentioned has no inbox')
  return { inbox: actor.inbox, peer: actor.id }
}

/** People who cannot be looked up now are left out of this copy; the delivery to them decides for itself. */
async function lookUpMentions(
  { response, rendering, agent, origin }: Answered,
  { message }: Delivery,
  parts: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<readonly Mentioned[]> {
  const reached = { own: ownNames(agent, message.recipient, origin), author: rendering.reply?.address }
  const { chosen, named } = findCalled(response, rendering, reached)
  const others = [...chosen, ...named]
  const found = await Promise.allSettled(
    others.map(mention => findMentioned({ mention, isNamed: named.includes(mention) }, parts)),
  )
  return found.flatMap((result, at) =>
    result.status === 'fulfilled' ? [toMentioned(result.value, others[at] ?? '')] : [],
  )
}

function toMentioned({ id, url }: RemoteActor, name: string): Mentioned {
  return { href: id, name, url: url ?? id }
}

async function findMentioned(
  { mention, isNamed }: { readonly mention: string; readonly isNamed?: boolean | undefined },
  { handles, actors }: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<RemoteActor> {
  try {
    const actor = await actors.find(
      parseIri(await handles.resolve(mention, { isCounted: isNamed }), 'the one mentioned'),
    )
    if (actor) return actor
  } catch (error) {
    if (error instanceof Rejection && error.code === 'rate_limited')
      throw new Unavailable(error.message, { cause: error })
    if (!(error instanceof Rejection)) throw error
  }
  throw new Undeliverable('Cannot deliver: the one mentioned is gone or cannot be read')
}
