import type { ChannelContext, Part } from '@postern/core'
import { formatTurnId } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import type { ObjectPlace } from './signed-url.ts'

/** The bucket of files that came by another channel. The store keeps them with their messages. */
const storeBucket = 'conversations'

/** Where to find a file of a message that came by another channel. */
export function locateStoredFile(
  { entry_id, via = 'web' }: Pick<TranscriptEntry, 'entry_id' | 'via'>,
  part: Part,
): (ObjectPlace & { readonly mime_type: string }) | undefined {
  const message = via === 'web' ? undefined : messageOfEntry(entry_id)
  if (message === undefined || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  if (part.bytes_ref.kind !== 'content_addressed') return undefined
  const { name = 'file', mime = 'application/octet-stream', bytes_ref } = part
  const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^\.+/, '_')
  return { bucket: storeBucket, path: `${message}/${bytes_ref.digest}/${plain.slice(-80) || 'file'}`, mime_type: mime }
}

/** The first entry of a turn has the turn's id; the others add their number. */
function messageOfEntry(entryId: string): number | undefined {
  const [turn, message] = /^[a-z]+-(\d+)(?=(?:\.\d+)?$)/.exec(entryId) ?? []
  return turn === formatTurnId(Number(message)) ? Number(message) : undefined
}

/** The bytes at a place that one of our signatures names. */
export async function readStoredFile(
  { bucket, path }: ObjectPlace,
  { gateway }: { readonly gateway: Pick<ChannelContext, 'store'> },
): Promise<{ readonly bytes: Uint8Array; readonly mime?: string | undefined } | undefined> {
  const digest = parsePath(bucket, path)?.digest
  return digest === undefined ? undefined : gateway.store.findBlob(digest)
}

export function parsePath(bucket: string, path: string) {
  const [, message, digest] = (bucket === storeBucket && /^(\d{1,15})\/([0-9a-f]{64})\/[^/]+$/.exec(path)) || []
  return message === undefined || digest === undefined ? undefined : { message: Number(message), digest }
}
