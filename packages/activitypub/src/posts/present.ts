import type { NormalizedMessage, NormalizedResponse, ShowRequirement } from '@postern/core'
import { hasRequirements, presentResponse } from '@postern/core'
import type { Rendering } from './rendering.ts'

const elsewhere = 'How to go on is not said in public. Write to me again, in a direct message.'

/**
 * An answer as it may be read where it stands: what its addressee decides by is in direct posts alone. An answer that began in public stays there,
 * and says so instead.
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
