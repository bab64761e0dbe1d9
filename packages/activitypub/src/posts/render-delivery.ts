// Renders deliveries as documents, and caches the document of a broadcast.

import { createExpiringMap } from '@postern/limits'
import type { Json, ShowRequirement } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import type { DeliveryTarget, Revision } from '../format/post-data.ts'
import { readDeliveryTarget, readRendering } from '../format/targets.ts'
import type { MentionedPerson } from '../text/mention.ts'
import { presentPost } from './present-post.ts'
import type { JsonMembers, PublishedResponse } from './render-post.ts'
import { renderCreate, renderRevision } from './render-post.ts'

/** A rendered delivery: the document, and the response in it, if any. */
export interface OutgoingActivity {
  readonly document: Json
  readonly post?: { readonly response: PublishedResponse; readonly revision: Revision | undefined } | undefined
  /** True if the document is for all followers. */
  readonly isBroadcast: boolean
}

interface RendererDeps {
  readonly origin: string
  readonly fileAddress: PublishedResponse['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

const maxCachedBroadcasts = 100

const broadcastCacheMs = 300_000

/** Creates the renderer of deliveries. It renders the document of a broadcast only once. It throws Undeliverable if there is nothing to deliver. */
export function createDeliveryRenderer(deps: RendererDeps, now: () => number) {
  const broadcasts = createExpiringMap<OutgoingActivity>(maxCachedBroadcasts, now)
  return function renderCached(delivery: Delivery): OutgoingActivity {
    const target = readDeliveryTarget(delivery)
    const key = delivery.broadcast === undefined ? undefined : formatCacheKey(delivery, target)
    const activity = key && broadcasts.get(key)
    if (activity) return activity
    const renderedActivity = renderDelivery(delivery, target, deps)
    if (key) broadcasts.set(key, renderedActivity, broadcastCacheMs)
    return renderedActivity
  }
}

/**
 * Formats the cache key of a document. Edited text has another revision, and so another key. A response that is withdrawn in the meantime is not
 * delivered.
 */
function formatCacheKey({ message, response }: Delivery, { handshake, piece, revision }: DeliveryTarget): string {
  return JSON.stringify([message.id, response?.id, piece, revision?.id, handshake])
}

function renderDelivery(delivery: Delivery, target: DeliveryTarget, deps: RendererDeps): OutgoingActivity {
  const isBroadcast = delivery.broadcast !== undefined
  if (target.handshake !== undefined) return { document: target.handshake, isBroadcast }
  const post = readOutgoingPost(delivery, target, deps)
  return { post, document: renderOutgoingPost(post), isBroadcast }
}

function readOutgoingPost(
  { agent, message, response, rendering: storedRendering }: Delivery,
  { piece, revision, ...targetMembers }: DeliveryTarget,
  { origin, fileAddress, showRequirement }: RendererDeps,
): NonNullable<OutgoingActivity['post']> {
  if (!response) throw new Undeliverable('Cannot deliver: there is no answer to render')
  const reply = 'reply' in targetMembers ? (targetMembers.reply as Json) : null
  const rendering = readRendering(storedRendering, reply, response)
  const presentedResponse = presentPost(response, message, rendering, showRequirement)
  const answered = { origin, agent, response: presentedResponse, rendering, piece, fileAddress }
  return { response: answered, revision }
}

/** Renders the document with further mentioned people. It is pure. */
export function renderOutgoingPost(
  { response: answered, revision }: NonNullable<OutgoingActivity['post']>,
  mentions: readonly MentionedPerson[] = [],
): JsonMembers {
  const responseWithMentions = mentions.length > 0 ? { ...answered, mentions } : answered
  return revision ? renderRevision(responseWithMentions, revision) : renderCreate(responseWithMentions)
}

/** Describes a document for the operator. A broadcast is described only by its id, type and object. It is pure. */
export function describeOutgoing({ document, isBroadcast }: OutgoingActivity): Json {
  if (!isBroadcast || typeof document !== 'object' || document === null || Array.isArray(document)) return document
  const { id = null, type = null, object = null } = document as JsonMembers
  return { id, type, object: (object as JsonMembers | null)?.id ?? object }
}
