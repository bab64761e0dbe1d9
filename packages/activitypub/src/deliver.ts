// Posts a signed activity to an inbox, and decides by the response whether to retry the delivery.
import { parseRetryAfter, readReply } from '@postern/http'
import type { FetchAnswer, Json, System } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { Delivery, RelationStore, TransmitResult } from '@postern/pipeline'
import type { KeyIntroductions, Recipient } from './actors/key-introductions.ts'
import { chooseIntroducingKey } from './actors/key-introductions.ts'
import type { IsBlocked } from './domains/blocklist.ts'
import { isBlockedUrl } from './domains/blocklist.ts'
import { findHost } from './format/iri.ts'
import { activityJson } from './format/media-types.ts'
import { agentIris } from './format/own-iris.ts'
import type { DeliveryTarget } from './format/post-data.ts'
import { readDeliveryTarget } from './format/targets.ts'
import type { DocumentKey, KeyRing, RequestKey } from './keys/key-generations.ts'
import type { SendSigned } from './keys/send-signed.ts'
import type { ActorCache } from './peers/actor-cache.ts'
import type { PostLengthCache } from './peers/post-length-cache.ts'
import type { Inbox } from './posts/mentioned-people.ts'
import { findMentionedActor, findMentionedInbox, toMentionedPerson } from './posts/mentioned-people.ts'
import type { OutgoingActivity } from './posts/render-delivery.ts'
import { renderOutgoingPost } from './posts/render-delivery.ts'
import type { PublishedResponse } from './posts/render-post.ts'
import type { ProveOutgoing } from './proofs/outgoing-proof.ts'
import type { MentionedPerson } from './text/mention.ts'
import { listOwnAddresses, selectMentions } from './text/select-mentions.ts'
import type { Handles } from './webfinger/handles.ts'

interface DeliverDeps {
  readonly system: Pick<System, 'now' | 'log'>
  readonly store: Pick<RelationStore, 'findRelation'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly proveOutgoing: ProveOutgoing
  readonly actors: Pick<ActorCache, 'find'>
  readonly handles: Pick<Handles, 'resolve'>
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly encodeActivity: EncodeActivity
  readonly limits: Pick<PostLengthCache, 'refresh'>
  readonly introductions: KeyIntroductions
  /** Handles an inbox that does not exist (any more), as its server answers. */
  handleMissingInbox(agent: string, target: DeliveryTarget): void
}

/** The timeout of a delivery in ms, including the repetition with the other signature scheme. */
const postTimeoutMs = 15_000
/** The number of attempts after which a 401 or 403 is final. Peers also send these statuses while they cannot fetch our key. */
const maxRefusals = 3
/** The maximum number of lookups of a recipient whom only the text of an answer names, because not every text that looks like a name is a name. */
const maxLookupAttempts = 3
const refusalStatuses: ReadonlySet<number> = new Set([401, 403])
const goneStatuses: ReadonlySet<number> = new Set([404, 410])
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])
/** The statuses that a peer sends if it does not know the actor (any more), or cannot fetch its key. */
const unknownStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 410])

/**
 * Signs an activity and posts it to its inbox. The people whom the answer mentions are looked up first, so that all copies name them.
 * @throws Unavailable, Undeliverable
 */
export async function deliverActivity(
  outgoing: OutgoingActivity,
  delivery: Delivery,
  deps: DeliverDeps,
): Promise<TransmitResult> {
  const destination = await findInbox(delivery, deps)
  if (!destination) return { note: 'the words name somebody who is not there' }
  const { inbox, peer } = destination
  const host = findHost(inbox)
  if (!host || deps.isBlocked(host))
    throw new Undeliverable('Cannot deliver: the inbox is blocked or has no https address')
  // An inbox may be on another host than the actor that owns it.
  if (peer && isBlockedUrl(peer, deps.isBlocked)) throw new Undeliverable('Cannot deliver: whom it is for is blocked')
  const bytes = await deps.encodeActivity(outgoing, delivery)
  const key = await chooseKey({ inbox, host, peer, agent: delivery.agent }, delivery, deps)
  const body = { bytes, type: activityJson }
  const response = await deps.send({ method: 'POST', url: inbox, body, timeoutMs: postTimeoutMs }, key)
  const target = readDeliveryTarget(delivery)
  if (target.isFarewell && unknownStatuses.has(response.status))
    return { note: `answered ${response.status}`, ...readReply(response) }
  if (goneStatuses.has(response.status)) deps.handleMissingInbox(delivery.agent, target)
  checkInboxResponse(response, delivery.attempt, deps.system.now())
  // The next response to this host can then be split by the real limit of its posts.
  if ((outgoing.post?.response.rendering.pieces ?? 1) > 1) void deps.limits.refresh(host)
  return { note: `answered ${response.status}`, ...readReply(response) }
}

/** Chooses the newest key, after an introduction of the key to the host. While an old key is listed, the old key signs the introduction. */
async function chooseKey(
  recipient: Recipient,
  delivery: Delivery,
  { keys, introductions, origin }: Pick<DeliverDeps, 'keys' | 'introductions' | 'origin'>,
): Promise<RequestKey> {
  const actorKeys = await keys.find(agentIris(origin, recipient.agent).actor)
  if (readDeliveryTarget(delivery).isIntroduction) {
    introductions.remember(recipient, actorKeys)
    return chooseIntroducingKey(actorKeys)
  }
  if (actorKeys.listedKeys.length > 1) await introductions.introduce(recipient, actorKeys)
  return actorKeys.requestKey
}

/**
 * The function that encodes an activity with all its mentions and the agent's own proof. It encodes an activity once for all destinations that use
 * the same key.
 */
type EncodeActivity = (outgoing: OutgoingActivity, delivery: Delivery) => Promise<Uint8Array>

interface EncodedActivity {
  readonly keyId: string
  readonly bytes: Promise<Uint8Array>
}

export function createActivityEncoder(
  deps: Pick<DeliverDeps, 'keys' | 'proveOutgoing' | 'handles' | 'actors' | 'origin'>,
): EncodeActivity {
  const renderings = new WeakMap<OutgoingActivity, EncodedActivity>()

  async function encodeDocument(
    { post, document }: OutgoingActivity,
    delivery: Delivery,
    key: DocumentKey,
  ): Promise<Uint8Array> {
    const mentions = post ? await lookUpMentions(post.response, delivery, deps) : []
    const documentWithMentions = post && mentions.length > 0 ? renderOutgoingPost(post, mentions) : document
    return Buffer.from(JSON.stringify(deps.proveOutgoing(documentWithMentions as Json, key, delivery.queuedAt)))
  }

  return async function encodeActivity(outgoing, delivery) {
    const { documentKey: key } = await deps.keys.find(agentIris(deps.origin, delivery.agent).actor)
    const cached = renderings.get(outgoing)
    const encoded =
      cached?.keyId === key.id ? cached : { keyId: key.id, bytes: encodeDocument(outgoing, delivery, key) }
    renderings.set(outgoing, encoded)
    try {
      return await encoded.bytes
    } catch (error) {
      renderings.delete(outgoing)
      throw error
    }
  }
}

/** Checks the response of an inbox. @throws Unavailable if a retry may succeed, or Undeliverable if it cannot */
export function checkInboxResponse(
  response: Pick<FetchAnswer, 'status' | 'headers' | 'body'>,
  attempt: number,
  now: number,
): void {
  const { status, headers } = response
  if (status >= 200 && status < 300) return
  const replyLine = readReply(response).reply_line
  const message = `Cannot deliver: the inbox answered ${status}`
  const isRefused = refusalStatuses.has(status) && attempt < maxRefusals
  const isServerError = status >= 500 && status !== 501
  if (!isRefused && !isServerError && !retryableStatuses.has(status))
    throw new Undeliverable(message, { status, replyLine })
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(message, { status, replyLine, retryAfter })
}

/** Finds the inbox of a delivery. Returns undefined if only the text of the answer names the recipient and no one has that name. */
async function findInbox(delivery: Delivery, deps: DeliverDeps): Promise<Inbox | undefined> {
  const target = readDeliveryTarget(delivery)
  if ('inbox' in target) return target
  try {
    return await findMentionedInbox(delivery, target, deps)
  } catch (error) {
    const isFinalAttempt =
      error instanceof Undeliverable || (error instanceof Unavailable && delivery.attempt >= maxLookupAttempts)
    if (target.isNamed && isFinalAttempt) return undefined
    throw error
  }
}

/**
 * Looks up the people whom a response mentions. Those who cannot be looked up now are left out of this copy. The delivery to each of them is
 * decided separately.
 */
async function lookUpMentions(
  { response, rendering, agent, origin }: PublishedResponse,
  { message }: Delivery,
  deps: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<readonly MentionedPerson[]> {
  const reachedPeople = {
    ownAddresses: listOwnAddresses(agent, message.recipient, origin),
    author: rendering.reply?.address,
  }
  const { chosenMentions: chosen, textMentions: named } = selectMentions(response, rendering, reachedPeople)
  const recipients = [...chosen, ...named]
  const lookups = await Promise.allSettled(
    recipients.map(mention => findMentionedActor({ mention, isNamed: named.includes(mention) }, deps)),
  )
  return lookups.flatMap((result, index) =>
    result.status === 'fulfilled' ? [toMentionedPerson(result.value, recipients[index] ?? '')] : [],
  )
}
