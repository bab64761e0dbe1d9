import type { Part, StoredObject } from '@postern/core'
import { parseAddress, Rejection } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { findConversation } from '../conversation.ts'
import type { WebOwner } from '../owner.ts'
import type { ObjectPlace } from '../signed-url.ts'
import type { WebDeps } from '../web-deps.ts'
import { maxRead } from '../web-deps.ts'

/** The bucket of what came by another channel: the store keeps it with its message. */
const storeBucket = 'conversations'

/** Where a file of a message stands that came by another channel. */
export function locateStoredFile(
  { entry_id, via = 'web' }: Pick<TranscriptEntry, 'entry_id' | 'via'>,
  part: Part,
): (ObjectPlace & { readonly mime_type: string }) | undefined {
  const [, message] = (via !== 'web' && /^desk-(\d+)(?:\.\d+)?$/.exec(entry_id)) || []
  if (message === undefined || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  if (part.bytes_ref.kind !== 'content_addressed') return undefined
  const { name = 'file', mime = 'application/octet-stream', bytes_ref } = part
  const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^\.+/, '_')
  return { bucket: storeBucket, path: `${message}/${bytes_ref.digest}/${plain.slice(-80) || 'file'}`, mime_type: mime }
}

/** The bytes behind a place that a signature of ours names. */
export async function readStoredFile(
  { bucket, path }: ObjectPlace,
  { gateway }: Pick<WebDeps, 'gateway'>,
): Promise<{ readonly bytes: Uint8Array; readonly mime?: string | undefined } | undefined> {
  const digest = parsePath(bucket, path)?.digest
  return digest === undefined ? undefined : gateway.store.findBlob(digest)
}

/** Of somebody who may read the message. */
export async function findStoredFile(
  owner: WebOwner,
  place: ObjectPlace,
  deps: WebDeps,
): Promise<Pick<StoredObject, 'bucket' | 'path'> | undefined> {
  const named = parsePath(place.bucket, place.path)
  const record = named && (await deps.gateway.store.findMessage(`#${named.message}`))
  if (!named || !record) return undefined
  const { local: agent } = parseAddress(record.message.recipient)
  const threadId = `${record.message.received_via}:${record.thread}`
  const found = await findConversation({ owner, agent, threadId }, deps).catch(refuseQuietly)
  const entries = found ? await deps.transcript.read(found.thread, { max_bytes: maxRead, chat: true }) : []
  const isShown = entries.some(entry => {
    const parts = 'parts' in entry.content ? entry.content.parts : []
    return parts.some(part => locateStoredFile(entry, part)?.path === place.path)
  })
  return isShown ? { bucket: place.bucket, path: place.path } : undefined
}

function parsePath(bucket: string, path: string) {
  const [, message, digest] = (bucket === storeBucket && /^(\d{1,15})\/([0-9a-f]{64})\/[^/]+$/.exec(path)) || []
  return message === undefined || digest === undefined ? undefined : { message: Number(message), digest }
}

/** What is not his does not exist. */
function refuseQuietly(error: unknown): undefined {
  if (error instanceof Rejection) return undefined
  throw error
}
