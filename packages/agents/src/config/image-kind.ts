interface ImageKind {
  readonly mediaType: string
  readonly extension: string
  matches(head: string): boolean
}

/** By their first bytes, as Latin-1. Not SVG: it is a document with scripts, under the gateway's own origin. */
const imageKinds: readonly ImageKind[] = [
  { mediaType: 'image/png', extension: 'png', matches: head => head.startsWith('\x89PNG\r\n\x1a\n') },
  { mediaType: 'image/jpeg', extension: 'jpg', matches: head => head.startsWith('\xff\xd8\xff') },
  { mediaType: 'image/gif', extension: 'gif', matches: head => /^GIF8[79]a/.test(head) },
  { mediaType: 'image/webp', extension: 'webp', matches: head => /^RIFF[\s\S]{4}WEBP/.test(head) },
]

/** The kind of picture by its bytes, whatever its name. */
export function findImageKind(bytes: Uint8Array): ImageKind | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return imageKinds.find(({ matches }) => matches(head))
}
