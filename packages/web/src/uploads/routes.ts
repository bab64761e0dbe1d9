// Accepts uploads, signs their URLs and serves the stored files.

import { findServedType, networkOf, peerAddress } from '@postern/http'
import type { ResponseSemaphore } from '@postern/limits'
import { createResponseSemaphore } from '@postern/limits'
import type { StoredObject } from '@postern/message'
import { parseAddress, Rejection } from '@postern/message'
import { partsOfContent } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Upload } from '../attachments/attachment-store.ts'
import { locateStoredFile, parseStoredPath, readStoredFile, showLocation } from '../attachments/attachment-store.ts'
import type { ObjectLocation } from '../attachments/signed-url.ts'
import { parseSignedUrl, readObjectLocation } from '../attachments/signed-url.ts'
import type { OwnerLimit, WebDeps } from '../endpoint.ts'
import { answerOwner, createOwnerLimit, maxThreadBytes, noStore, withErrorResponses } from '../endpoint.ts'
import { findWebConversation } from '../threads/web-threads.ts'
import type { WebOwner } from '../verify.ts'
import { readUploadForm } from './read-form.ts'

/** The largest multipart overhead of a file, in bytes. */
const maxFormOverheadBytes = 64 * 1024
/** The maximum number of simultaneous uploads of one person, because uploads are held in memory. */
const maxUploadsPerPerson = 4

/** The maximum number of simultaneous downloads per network address. Anyone with a signed URL may read, and nobody may use up the memory. */
const downloadLimits = { maxRunning: 32, maxWaiting: 256 } as const

/** Creates the routes of uploads, new signed URLs, and the files at these URLs. */
export function createAttachmentRoutes(deps: WebDeps): Hono {
  const acquireUpload = createOwnerLimit(maxUploadsPerPerson, 'Cannot store attachment: too many uploads are under way')
  const downloadSemaphore = createResponseSemaphore(downloadLimits)
  return new Hono()
    .post(
      '/api/v1/agent/attachments',
      withErrorResponses(deps, c => answerUpload(c, acquireUpload, deps)),
    )
    .get('/api/v1/agent/attachments/signed-url', answerOwner(deps, signAttachment))
    .delete('/api/v1/agent/attachments', answerOwner(deps, deleteAttachment))
    .get(
      '/storage/v1/object/sign/*',
      withErrorResponses(deps, c => answerBytes(c, downloadSemaphore, deps)),
    )
}

async function answerUpload(c: Context, acquireUpload: OwnerLimit, deps: WebDeps): Promise<Response> {
  const { attachments } = deps
  const { owner } = await deps.verifyOwner(c.req.raw)
  const releaseUpload = acquireUpload(owner)
  try {
    const object = await attachments.store({ owner, ...(await readUpload(c, deps)) })
    return c.json({ ...showLocation(object), ...(await attachments.signer.sign(object)) }, 200, noStore)
  } finally {
    releaseUpload()
  }
}

async function readUpload(c: Context, { config }: WebDeps): Promise<Omit<Upload, 'owner'>> {
  const form = await readUploadForm(c.req.raw, config.attachments.max_bytes + maxFormOverheadBytes)
  const file = form.get('file')
  if (!(file instanceof File)) {
    throw new Rejection('malformed', 'Cannot store attachment: form field "file" is missing')
  }
  const [threadId, runId] = [readField(form, 'threadId') ?? 'unfiled', readField(form, 'runId')]
  return { threadId, runId, name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }
}

function readLocation(c: Context): ObjectLocation | undefined {
  return readObjectLocation(c.req.query('bucket') ?? '', c.req.query('path') ?? '')
}

async function signAttachment(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const { attachments } = deps
  const location = readLocation(c)
  const object = location && (await attachments.findOwn(owner.owner, location))
  const foundLocation = object ?? (location && (await findStoredFile(owner, location, deps)))
  if (!foundLocation)
    throw new Rejection('no_recipient', 'Cannot sign attachment: you have no attachment at this location')
  const { bucket, path } = object ? showLocation(object) : foundLocation
  return { bucket, path, ...(await attachments.signer.sign(foundLocation)) }
}

async function deleteAttachment(c: Context, { owner }: WebOwner, { attachments }: WebDeps): Promise<object> {
  const location = readLocation(c)
  const object = location && (await attachments.findOwn(owner, location))
  const isRemoved = object !== undefined && (await attachments.removeObject(owner, object))
  if (!isRemoved)
    throw new Rejection('no_recipient', 'Cannot delete attachment: you have no attachment at this location')
  return { deleted: true }
}

async function answerBytes(c: Context, downloadSemaphore: ResponseSemaphore, deps: WebDeps): Promise<Response> {
  const { attachments } = deps
  const signedUrl = parseSignedUrl(c.req.url)
  const isTokenValid = signedUrl !== undefined && (await attachments.signer.isValidToken(signedUrl, signedUrl.token))
  if (!signedUrl || !isTokenValid)
    throw new Rejection('forbidden', 'Cannot read attachment: the URL is not valid or has expired')
  return downloadSemaphore.run(networkOf(peerAddress(c.env)), c.env, async () => {
    const storedFile = await readStoredFile(signedUrl, deps)
    const bytes = storedFile?.bytes ?? (await attachments.readObject(signedUrl))
    if (!bytes) throw new Rejection('no_recipient', 'Cannot read attachment: it is gone')
    const mime = storedFile ? storedFile.mime : (await attachments.describe(signedUrl))?.mime
    return c.body(new Uint8Array(bytes), 200, bytesHeaders(mime))
  })
}

/** Returns the headers of people's files under the gateway's own origin. Browsers show media, but run nothing and guess no types. */
function bytesHeaders(mime: string | undefined): Record<string, string> {
  const { type, isInline } = findServedType(mime)
  return {
    'content-type': type,
    'content-disposition': isInline ? 'inline' : 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=300',
  }
}

function readField(form: FormData, name: string): string | undefined {
  const value = form.get(name)
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined
}

/** Finds the stored file of a message, for an owner who may read the message. */
async function findStoredFile(
  owner: WebOwner,
  location: ObjectLocation,
  deps: WebDeps,
): Promise<Pick<StoredObject, 'bucket' | 'path'> | undefined> {
  const parsedPath = parseStoredPath(location.bucket, location.path)
  const record = parsedPath && (await deps.gateway.store.findMessage(`#${parsedPath.message}`))
  if (!parsedPath || !record) return undefined
  const { local: agent } = parseAddress(record.message.recipient)
  const threadId = `${record.message.received_via}:${record.thread}`
  const conversation = await findWebConversation({ owner, agent, threadId }, deps).catch(ignoreRejection)
  const entries = conversation
    ? await deps.transcript.read(conversation.thread, { max_bytes: maxThreadBytes, chat: true })
    : []
  const isShown = entries.some(entry => {
    return partsOfContent(entry.content).some(part => locateStoredFile(entry, part)?.path === location.path)
  })
  return isShown ? { bucket: location.bucket, path: location.path } : undefined
}

/** Returns undefined for a Rejection, so that files of other people are treated as missing. */
function ignoreRejection(error: unknown): undefined {
  if (error instanceof Rejection) return undefined
  throw error
}
