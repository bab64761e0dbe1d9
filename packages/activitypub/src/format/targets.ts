// Reads and writes the targets and renderings that the store keeps as JSON.

import type { Json, NormalizedResponse } from '@postern/message'
import type { Delivery, Turn } from '@postern/pipeline'
import type { DeliveryContent, DeliveryTarget, Rendering, ReplyTarget } from './post-data.ts'
import { chooseReplyVisibility } from './visibility.ts'

/** Returns a target or rendering as JSON for the store. Only this channel writes them. */
export function toStoredJson(value: ReplyTarget | DeliveryTarget | DeliveryContent | Rendering): Json {
  return value as unknown as Json
}

export function readReplyTarget(json: Json): ReplyTarget {
  return json as unknown as ReplyTarget
}

/** Returns the parent and the quoted post of a message, and its reply target. */
export function readReferences({ content, target }: Pick<Turn, 'content' | 'target'>) {
  const replyTarget = readReplyTarget(target)
  const isMessage = content.kind === undefined || content.kind === 'message'
  return { parent: isMessage ? content.in_reply_to : undefined, quote: replyTarget.quote, sender: replyTarget }
}

/** Returns the target of a delivery, with the data that all deliveries of a broadcast share. */
export function readDeliveryTarget({ target, broadcast }: Pick<Delivery, 'target' | 'broadcast'>): DeliveryTarget {
  return { ...(broadcast as object | undefined), ...(target as object) } as DeliveryTarget
}

/**
 * Returns the rendering of a response. `target` is that of the answered message. A response from before renderings were stored has one post, and
 * its rendering follows from the target and the visibility of the response.
 */
export function readRendering(
  rendering: Json | undefined,
  target: Json,
  { visibility }: Pick<NormalizedResponse, 'visibility'>,
): Rendering {
  if (rendering !== undefined) return rendering as unknown as Rendering
  const reply = readReplyTarget(target)
  return { reply, visibility: chooseReplyVisibility(reply.visibility, visibility), pieces: 1 }
}
