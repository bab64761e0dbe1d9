// Presents a response in the form that the audience of its post may see.
import type { NormalizedMessage, NormalizedResponse, ShowRequirement } from '@postern/message'
import { hasRequirements, presentResponse } from '@postern/message'
import type { Rendering } from '../format/post-data.ts'

const directMessageHint = 'I cannot say in public how to continue. Please write to me again in a direct message.'

/**
 * Presents a response to its audience. Only a direct post contains the means to make a decision. Every other post asks the reader to write again
 * in a direct message.
 */
export function presentPost(
  response: NormalizedResponse,
  message: Pick<NormalizedMessage, 'sender'>,
  { visibility }: Pick<Rendering, 'visibility'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (visibility === 'direct') return presentResponse(response, message, show)
  const presentedResponse = presentResponse(response, message, undefined)
  if (!hasRequirements(response.parts)) return presentedResponse
  return {
    ...presentedResponse,
    parts: [...presentedResponse.parts, { kind: 'text', mime: 'text/plain', content: directMessageHint }],
  }
}
