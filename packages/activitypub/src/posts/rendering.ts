import type { Json, NormalizedResponse, Visibility } from '@postern/core'
import type { ReplyTarget } from '../format/reply-target.ts'
import { readReplyTarget } from '../format/reply-target.ts'
import { replyVisibility } from '../format/visibility.ts'

/** How something an agent says becomes posts: fixed when it is said and kept with it, so that it is the same whenever it is rendered. */
export interface Rendering {
  /** What it answers; absent for a post of its own. */
  readonly reply?: ReplyTarget | undefined
  readonly visibility: Visibility
  /** Into how many posts it is divided; each answers the one before. */
  readonly pieces: number
  /** Visible characters one of them holds at most; absent when there is only one. */
  readonly limit?: number | undefined
  /** People it may call, with those that its words name; absent: its words call nobody. */
  readonly callable?: number | undefined
}

/** Written by this room only; the store keeps it as JSON. */
export function toRenderingJson(rendering: Rendering): Json {
  return rendering as unknown as Json
}

/** `target`: of the message it answers; all there is of answers that were given before renderings were kept. */
export function readRendering(
  rendering: Json | undefined,
  target: Json,
  { visibility }: Pick<NormalizedResponse, 'visibility'>,
): Rendering {
  if (rendering !== undefined) return rendering as unknown as Rendering
  const reply = readReplyTarget(target)
  return { reply, visibility: replyVisibility(reply.visibility, visibility), pieces: 1 }
}
