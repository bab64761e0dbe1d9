import type { Json, NormalizedResponse, Visibility } from '@postern/core'
import type { ReplyTarget } from '../format/reply-target.ts'
import { readReplyTarget } from '../format/reply-target.ts'
import { replyVisibility } from '../format/visibility.ts'

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
