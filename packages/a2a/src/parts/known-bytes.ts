import type { Part, Store } from '@postern/core'
import type { KnownBytes } from './write-parts.ts'

/** Bytes of attachments in one answer. Attachments beyond it are only described. */
const maxBytes = 16 * 1024 * 1024

/** Reads the bytes that `parts` refer to, each digest once. */
export async function readKnownBytes(store: Pick<Store, 'findBlob'>, parts: readonly Part[]): Promise<KnownBytes> {
  const known = new Map<string, string>()
  let room = maxBytes
  for (const digest of new Set(parts.flatMap(digestOf))) {
    const blob = await store.findBlob(digest)
    if (!blob || blob.bytes.length > room) continue
    room -= blob.bytes.length
    known.set(digest, Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.length).toString('base64'))
  }
  return known
}

function digestOf(part: Part): readonly string[] {
  const isStored = (part.kind === 'file' || part.kind === 'artifact') && part.bytes_ref.kind === 'content_addressed'
  return isStored && part.bytes_ref.kind === 'content_addressed' ? [part.bytes_ref.digest] : []
}
