import type { StoredObject } from '@postern/core'
import { parseAddress, Rejection } from '@postern/core'
import type { ObjectPlace } from '../attachments/signed-url.ts'
import { locateStoredFile, parsePath } from '../attachments/stored-files.ts'
import type { WebDeps } from '../deps.ts'
import { maxRead } from '../deps.ts'
import { findWebConversation } from '../history/conversation.ts'
import type { WebOwner } from '../identity/speaker.ts'

/** The stored file of a message, for an owner who may read the message. */
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
  const found = await findWebConversation({ owner, agent, threadId }, deps).catch(refuseQuietly)
  const entries = found ? await deps.transcript.read(found.thread, { max_bytes: maxRead, chat: true }) : []
  const isShown = entries.some(entry => {
    const parts = 'parts' in entry.content ? entry.content.parts : []
    return parts.some(part => locateStoredFile(entry, part)?.path === place.path)
  })
  return isShown ? { bucket: place.bucket, path: place.path } : undefined
}

/** Files of other people are not found. */
function refuseQuietly(error: unknown): undefined {
  if (error instanceof Rejection) return undefined
  throw error
}
