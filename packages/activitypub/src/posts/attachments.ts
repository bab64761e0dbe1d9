// Renders the files of a response as attachments of a post.
import type { Json, Part } from '@postern/message'
import { findWebAddress } from '../format/iri.ts'

export type AttachedPart = Extract<Part, { kind: 'file' | 'artifact' }>

/** Returns the address of stored bytes by their digest. Undefined if stored files have no public address. */
export type StoredAddress = ((digest: string) => string) | undefined

const mediaPattern = /^(image|video|audio)\//

/** Returns true if servers show the part as media beside the text, so that the text need not mention it. */
export function isShown(part: AttachedPart, fileAddress: StoredAddress): boolean {
  return mediaPattern.test(part.mime ?? '') && addressOf(part, fileAddress) !== undefined
}

/** Renders a part as an attachment of a post. A file without an address gives none. */
export function toDocument(part: AttachedPart, fileAddress: StoredAddress): readonly Json[] {
  const url = addressOf(part, fileAddress)
  const { name, description = name, mime } = part
  return url
    ? [{ type: 'Document', url, ...(mime && { mediaType: mime }), ...(description && { name: description }) }]
    : []
}

function addressOf({ bytes_ref: ref }: AttachedPart, fileAddress: StoredAddress): string | undefined {
  if (ref.kind === 'content_addressed') return fileAddress?.(ref.digest) ?? findWebAddress(ref.url)
  return ref.kind === 'url' ? findWebAddress(ref.url) : undefined
}
