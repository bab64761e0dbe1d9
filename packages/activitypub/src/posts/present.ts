import type { NormalizedMessage, NormalizedResponse, ShowRequirement } from '@postern/core'
import { hasRequirements, presentResponse } from '@postern/core'
import type { Rendering } from './rendering.ts'

const elsewhere = 'How to go on is not said in public. Write to me again, in a direct message.'

/**
 * An answer as its audience may read it: only direct posts hold the means of a decision. A public answer stays public
 * and refers to the direct one.
 */
export function presentPost(
  response: NormalizedResponse,
  message: Pick<NormalizedMessage, 'sender'>,
  { visibility }: Pick<Rendering, 'visibility'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (visibility === 'direct') return presentResponse(response, message, show)
  const presented = presentResponse(response, message, undefined)
  if (!hasRequirements(response.parts)) return presented
  return { ...presented, parts: [...presented.parts, { kind: 'text', mime: 'text/plain', content: elsewhere }] }
}
