// Renders the files of a response as attachments of a post.
import type { Json, Part } from '@postern/message'
import { findWebUrl } from '../format/iri.ts'

export type AttachedPart = Extract<Part, { kind: 'file' | 'artifact' }>

/** Returns the address of stored bytes by their digest. Undefined if stored files have no public address. */
export type StoredFileUrl = ((digest: string) => string) | undefined

const mediaPattern = /^(image|video|audio)\//

/** Returns true if servers show the part as media beside the text, so that the text need not mention it. */
export function isShown(part: AttachedPart, fileAddress: StoredFileUrl): boolean {
  return mediaPattern.test(part.mime ?? '') && urlOfPart(part, fileAddress) !== undefined
}

/** Renders a part as an attachment of a post. A file without an address gives none. */
export function toDocument(part: AttachedPart, fileAddress: StoredFileUrl): readonly Json[] {
  const url = urlOfPart(part, fileAddress)
  const { name, description = name, mime } = part
  return url
    ? [{ type: 'Document', url, ...(mime && { mediaType: mime }), ...(description && { name: description }) }]
    : []
}

function urlOfPart({ bytes_ref: ref }: AttachedPart, fileAddress: StoredFileUrl): string | undefined {
  if (ref.kind === 'content_addressed') return fileAddress?.(ref.digest) ?? findWebUrl(ref.url)
  return ref.kind === 'url' ? findWebUrl(ref.url) : undefined
}
