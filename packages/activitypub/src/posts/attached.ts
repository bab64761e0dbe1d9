import type { Json, Part } from '@postern/core'
import { findWebAddress } from '../format/document.ts'

export type AttachedPart = Extract<Part, { kind: 'file' | 'artifact' }>

/** The address of stored bytes. */
export type StoredAddress = ((digest: string) => string) | undefined

const mediaPattern = /^(image|video|audio)\//

/** Servers show media beside the text: there it needs no words. */
export function isShown(part: AttachedPart, fileAddress: StoredAddress): boolean {
  return mediaPattern.test(part.mime ?? '') && addressOf(part, fileAddress) !== undefined
}

/** The attachment of a post. A file without an address is none. */
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
