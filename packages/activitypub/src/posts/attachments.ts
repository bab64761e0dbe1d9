// Renders the files of a response as attachments of a post.
import type { Json, Part } from '@postern/message'
import { findWebUrl } from '../format/iri.ts'

export type AttachedPart = Extract<Part, { kind: 'file' | 'artifact' }>

/** The function that returns the address of stored bytes by their digest. Undefined if stored files have no public address. */
export type StoredFileUrl = ((digest: string) => string) | undefined

const mediaPattern = /^(image|video|audio)\//

/** Returns true if servers show the part as media beside the text, so that the text need not mention it. */
export function isShownAsMedia(part: AttachedPart, fileAddress: StoredFileUrl): boolean {
  return mediaPattern.test(part.mime ?? '') && findPartUrl(part, fileAddress) !== undefined
}

/** Renders a part as an attachment of a post. A file without an address is left out. */
export function renderAttachment(part: AttachedPart, fileAddress: StoredFileUrl): readonly Json[] {
  const url = findPartUrl(part, fileAddress)
  const { name, description = name, mime } = part
  return url
    ? [{ type: 'Document', url, ...(mime && { mediaType: mime }), ...(description && { name: description }) }]
    : []
}

function findPartUrl({ bytes_ref: ref }: AttachedPart, fileAddress: StoredFileUrl): string | undefined {
  if (ref.kind === 'content_addressed') return fileAddress?.(ref.digest) ?? findWebUrl(ref.url)
  return ref.kind === 'url' ? findWebUrl(ref.url) : undefined
}
