import type { Delivery, Json, ShowRequirement } from '@postern/core'
import { Undeliverable } from '@postern/core'
import { createExpiringMap } from '../cache/expiring-map.ts'
import type { DeliveryTarget } from '../format/reply-target.ts'
import { readDeliveryTarget } from '../format/reply-target.ts'
import type { Revision } from '../format/revision.ts'
import type { Mentioned } from '../words/mention-link.ts'
import { presentPost } from './present.ts'
import type { Answered, JsonMembers } from './render.ts'
import { renderCreate } from './render.ts'
import { renderRevision } from './render-revision.ts'
import { readRendering } from './rendering.ts'

/** A rendered delivery: the document, and the agent's message it comes from, if any. */
export interface OutgoingActivity {
  readonly document: Json
  readonly said?: { readonly answered: Answered; readonly revision: Revision | undefined } | undefined
  /** The document goes to many. */
  readonly isBroadcast: boolean
}

interface OutgoingDeps {
  readonly origin: string
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** @throws Undeliverable when there is nothing to say */
type RenderDelivery = (delivery: Delivery) => OutgoingActivity

const maxRemembered = 100
const rememberMs = 300_000

/** Renders deliveries; what goes to many is rendered once. */
export function createDeliveryRenderer(gateway: OutgoingDeps, now: () => number): RenderDelivery {
  const broadcasts = createExpiringMap<OutgoingActivity>(maxRemembered, now)
  return function renderRemembered(delivery) {
    const target = readDeliveryTarget(delivery)
    const key = delivery.broadcast === undefined ? undefined : nameOf(delivery, target)
    const known = key && broadcasts.get(key)
    if (known) return known
    const rendered = renderDelivery(delivery, target, gateway)
    if (key) broadcasts.set(key, rendered, rememberMs)
    return rendered
  }
}

/** Changed words have another revision; a response that is withdrawn in the meantime is not delivered. */
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

/** The document as it is with these people named in it. Pure. */
export function renderSaid(
  { answered, revision }: NonNullable<OutgoingActivity['said']>,
  mentions: readonly Mentioned[] = [],
): JsonMembers {
  const naming = mentions.length > 0 ? { ...answered, mentions } : answered
  return revision ? renderRevision(naming, revision) : renderCreate(naming)
}

/** The operator's view. A delivery to many keeps only the name. Pure. */
export function describeOutgoing({ document, isBroadcast }: OutgoingActivity): Json {
  if (!isBroadcast || typeof document !== 'object' || document === null || Array.isArray(document)) return document
  const { id = null, type = null, object = null } = document as JsonMembers
  return { id, type, object: (object as JsonMembers | null)?.id ?? object }
}
