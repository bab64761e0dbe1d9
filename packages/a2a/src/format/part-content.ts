// Finds the content and the media type of a part on the wire.
import type { WirePart } from './wire.ts'

/** The default type of a part, which the card also declares. */
export const impliedTypes = {
  text: 'text/plain',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
  data: 'application/json',
} as const

export type PartContent = keyof typeof impliedTypes

/** Returns the name of the one content that a checked part has. `data` may be null, so its presence decides. */
export function contentOf(part: WirePart): PartContent {
  if (typeof part.text === 'string') return 'text'
  if (typeof part.raw === 'string') return 'raw'
  return typeof part.url === 'string' ? 'url' : 'data'
}

/** Returns the `type/subtype` of a part in lower case, without parameters. */
export function mediaTypeOf(part: WirePart): string {
  const [type = ''] = (part.mediaType ?? '').split(';')
  return type.trim().toLowerCase() || impliedTypes[contentOf(part)]
}
