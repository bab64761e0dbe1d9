import type { ArtifactPart, FilePart, Part } from '../message/part.ts'
import type { LookupStore } from '../ports/lookup-store.ts'

/**
 * Files of an answer in a form that every channel can send. Bytes that are not stored here come from their `url`; a
 * line of text replaces a file without one. Stored files get their size. The words stay, whatever happens to a file.
 */
export async function settleFiles(
  parts: readonly Part[],
  store: Pick<LookupStore, 'findBlob'>,
): Promise<readonly Part[]> {
  if (!parts.some(isReference)) return parts
  return Promise.all(parts.map(part => (isReference(part) ? settleReference(part, store) : part)))
}

type Reference = (FilePart | ArtifactPart) & { readonly bytes_ref: { readonly kind: 'content_addressed' } }

function isReference(part: Part): part is Reference {
  return (part.kind === 'file' || part.kind === 'artifact') && part.bytes_ref.kind === 'content_addressed'
}

async function settleReference(part: Reference, store: Pick<LookupStore, 'findBlob'>): Promise<Part> {
  const { bytes_ref, name = 'A file', size } = part
  const blob = await store.findBlob(bytes_ref.digest)
  if (blob) return { ...part, size: size ?? blob.bytes.length }
  const { url } = bytes_ref
  if (url !== undefined) return { ...part, bytes_ref: { kind: 'url', url } }
  return { kind: 'text', mime: 'text/plain', content: `\n\n${name}: this file is not stored here.` }
}
