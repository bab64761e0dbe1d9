// Renders deliveries as documents, those to many only once.

import { createExpiringMap } from '@postern/limits'
import type { Json, ShowRequirement } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import type { DeliveryTarget, Revision } from '../format/post-data.ts'
import { readDeliveryTarget, readRendering } from '../format/targets.ts'
import type { Mentioned } from '../text/mention.ts'
import { presentPost } from './present-post.ts'
import type { Answered, JsonMembers } from './render-post.ts'
import { renderCreate, renderRevision } from './render-post.ts'

/** A rendered delivery: the document, and the response in it, if any. */
export interface OutgoingActivity {
  readonly document: Json
  readonly said?: { readonly answered: Answered; readonly revision: Revision | undefined } | undefined
  /** True if the document goes to many. */
  readonly isBroadcast: boolean
}

interface OutgoingDeps {
  readonly origin: string
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

const maxRemembered = 100

const rememberMs = 300_000

/** Creates the renderer. It renders a document that goes to many only once. The renderer throws Undeliverable if there is nothing to deliver. */
export function createDeliveryRenderer(gateway: OutgoingDeps, now: () => number) {
  const broadcasts = createExpiringMap<OutgoingActivity>(maxRemembered, now)
  return function renderRemembered(delivery: Delivery): OutgoingActivity {
    const target = readDeliveryTarget(delivery)
    const key = delivery.broadcast === undefined ? undefined : nameOf(delivery, target)
    const activity = key && broadcasts.get(key)
    if (activity) return activity
    const rendered = renderDelivery(delivery, target, gateway)
    if (key) broadcasts.set(key, rendered, rememberMs)
    return rendered
  }
}

/**
 * Returns the name of a document. Edited text has another revision, so another name. A response that is withdrawn in the meantime is not
 * delivered.
 */
function nameOf({ message, response }: Delivery, { handshake, piece, revision }: DeliveryTarget): string {
  return JSON.stringify([message.id, response?.id, piece, revision?.id, handshake])
}

function renderDelivery(delivery: Delivery, target: DeliveryTarget, gateway: OutgoingDeps): OutgoingActivity {
  const isBroadcast = delivery.broadcast !== undefined
  if (target.handshake !== undefined) return { document: target.handshake, isBroadcast }
  const said = readSaid(delivery, target, gateway)
  return { said, document: renderSaid(said), isBroadcast }
}

function readSaid(
  { agent, message, response, rendering: kept }: Delivery,
  { piece, revision, ...rest }: DeliveryTarget,
  { origin, fileAddress, showRequirement }: OutgoingDeps,
): NonNullable<OutgoingActivity['said']> {
  if (!response) throw new Undeliverable('Cannot deliver: there is no answer to render')
  const reply = 'reply' in rest ? (rest.reply as Json) : null
  const rendering = readRendering(kept, reply, response)
  const shown = presentPost(response, message, rendering, showRequirement)
  const answered = { origin, agent, response: shown, rendering, piece, fileAddress }
  return { answered, revision }
}

/** Renders the document with further mentioned people. It is pure. */
export function renderSaid(
  { answered, revision }: NonNullable<OutgoingActivity['said']>,
  mentions: readonly Mentioned[] = [],
): JsonMembers {
  const naming = mentions.length > 0 ? { ...answered, mentions } : answered
  return revision ? renderRevision(naming, revision) : renderCreate(naming)
}

/** Describes a document for the operator. A delivery to many keeps only its name. It is pure. */
export function describeOutgoing({ document, isBroadcast }: OutgoingActivity): Json {
  if (!isBroadcast || typeof document !== 'object' || document === null || Array.isArray(document)) return document
  const { id = null, type = null, object = null } = document as JsonMembers
  return { id, type, object: (object as JsonMembers | null)?.id ?? object }
}
