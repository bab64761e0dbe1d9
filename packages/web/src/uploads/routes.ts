import type { StoredObject } from '@postern/core'
import { parseAddress, Rejection } from '@postern/core'
import { findServedType, networkOf, peerAddress } from '@postern/http'
import type { ResponseSemaphore } from '@postern/limits'
import { createResponseSemaphore } from '@postern/limits'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Upload } from '../attachments/attachment-store.ts'
import { locateStoredFile, parsePath, readStoredFile, showPlace } from '../attachments/attachment-store.ts'
import type { ObjectPlace } from '../attachments/signed-url.ts'
import { parseSignedUrl, readObjectPlace } from '../attachments/signed-url.ts'
import type { OpenRuns, WebDeps } from '../endpoint.ts'
import { answerFaults, answerOwner, createOpenRuns, maxRead } from '../endpoint.ts'
import { findWebConversation } from '../resolve.ts'
import type { WebOwner } from '../verify.ts'
import { readUploadForm } from './read-form.ts'

/** Multipart wrapping around a file, bytes. */
const wrapping = 64 * 1024
/** Of one person, because uploads are in memory. */
const uploadsAtOnce = 4

/** Downloads for one network address: everybody with a signed URL may read, and none may take all memory. */
const readsAtOnce = { width: 32, queue: 256 } as const

/** Uploads, fresh signed URLs, and the bytes behind them. */
export function createAttachmentRoutes(deps: WebDeps): Hono {
  const open = createOpenRuns(uploadsAtOnce, 'Cannot store attachment: too many uploads are under way')
  const reads = createResponseSemaphore(readsAtOnce)
  return new Hono()
    .post(
      '/api/v1/agent/attachments',
      answerFaults(deps, c => answerUpload(c, open, deps)),
    )
    .get('/api/v1/agent/attachments/signed-url', answerOwner(deps, signAttachment))
    .delete('/api/v1/agent/attachments', answerOwner(deps, deleteAttachment))
    .get(
      '/storage/v1/object/sign/*',
      answerFaults(deps, c => answerBytes(c, reads, deps)),
    )
}

async function answerUpload(c: Context, open: OpenRuns, deps: WebDeps): Promise<Response> {
  const { attachments } = deps
  const { owner } = await deps.verifyOwner(c.req.raw)
  const leave = open(owner)
  try {
    const object = await attachments.store({ owner, ...(await readUpload(c, deps)) })
    return c.json({ ...showPlace(object), ...(await attachments.signer.sign(object)) }, 200, noStore)
  } finally {
    leave()
  }
}

async function readUpload(c: Context, { config }: WebDeps): Promise<Omit<Upload, 'owner'>> {
  const form = await readUploadForm(c.req.raw, config.attachments.max_bytes + wrapping)
  const file = form.get('file')
  if (!(file instanceof File)) {
    throw new Rejection('malformed', 'Cannot store attachment: form field "file" is missing')
  }
  const [threadId, runId] = [readField(form, 'threadId') ?? 'unfiled', readField(form, 'runId')]
  return { threadId, runId, name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }
}

function readPlace(c: Context): ObjectPlace | undefined {
  return readObjectPlace(c.req.query('bucket') ?? '', c.req.query('path') ?? '')
}

async function signAttachment(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const { attachments } = deps
  const place = readPlace(c)
  const object = place && (await attachments.findOwn(owner.owner, place))
  const found = object ?? (place && (await findStoredFile(owner, place, deps)))
  if (!found) throw new Rejection('no_recipient', 'Cannot sign attachment: there is none of yours')
  const { bucket, path } = object ? showPlace(object) : found
  return { bucket, path, ...(await attachments.signer.sign(found)) }
}

async function deleteAttachment(c: Context, { owner }: WebOwner, { attachments }: WebDeps): Promise<object> {
  const place = readPlace(c)
  const object = place && (await attachments.findOwn(owner, place))
  const isRemoved = object !== undefined && (await attachments.removeObject(owner, object))
  if (!isRemoved) throw new Rejection('no_recipient', 'Cannot delete attachment: there is none of yours')
  return { deleted: true }
}

async function answerBytes(c: Context, reads: ResponseSemaphore, deps: WebDeps): Promise<Response> {
  const { attachments } = deps
  const named = parseSignedUrl(c.req.url)
  const isHeld = named !== undefined && (await attachments.signer.holds(named, named.token))
  if (!named || !isHeld) throw new Rejection('forbidden', 'Cannot read attachment: the URL does not hold')
  return reads.pass(networkOf(peerAddress(c.env)), c.env, async () => {
    const kept = await readStoredFile(named, deps)
    const bytes = kept?.bytes ?? (await attachments.readObject(named))
    if (!bytes) throw new Rejection('no_recipient', 'Cannot read attachment: it is gone')
    const mime = kept ? kept.mime : (await attachments.describe(named))?.mime
    return c.body(new Uint8Array(bytes), 200, bytesHeaders(mime))
  })
}

const noStore = { 'cache-control': 'no-store' }

/** People's bytes under our own origin: browsers show media, run nothing and guess nothing. */
function bytesHeaders(mime: string | undefined): Record<string, string> {
  const { type, isShown } = findServedType(mime)
  return {
    'content-type': type,
    'content-disposition': isShown ? 'inline' : 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=300',
  }
}

function readField(form: FormData, name: string): string | undefined {
  const value = form.get(name)
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined
}

/** The stored file of a message, for an owner who may read the message. */
async function findStoredFile(
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
