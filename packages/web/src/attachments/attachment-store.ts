// Stores people's attachments and gives each file only to its owner.
import { admitsMedia, detectMedia } from '@postern/http'
import type { ObjectStore, Part, StoredObject } from '@postern/message'
import { Rejection, randomHex } from '@postern/message'
import type { ChannelContext, SecretRing } from '@postern/pipeline'
import { formatTurnId } from '@postern/pipeline'
import type { TranscriptEntry } from '@postern/transcript'
import type { WebConfig } from '../config.ts'
import type { ObjectLocation, UrlSigner } from './signed-url.ts'
import { createUrlSigner, findSignedOrigin, isValidUrlToken, parseSignedUrl } from './signed-url.ts'

/** The prefix of the buckets in which the store keeps files of the configured foreign project. */
const foreignBucketPrefix = 'supabase.'

export interface Upload {
  readonly owner: string
  readonly threadId: string
  readonly runId?: string | undefined
  readonly name?: string | undefined
  readonly bytes: Uint8Array
}

/** The attachments of people. Each is accessible only to its owner. */
export interface WebAttachments {
  readonly signer: UrlSigner
  /**
   * Stores an upload.
   * @throws Rejection too_large, unsupported
   */
  store(upload: Upload): Promise<StoredObject>
  /** Finds this owner's object at a location. Objects of other owners are not found. */
  findOwn(owner: string, location: ObjectLocation): Promise<StoredObject | undefined>
  /** Finds the file of a signed URL of this gateway or of the configured project. The token must be valid, and the file must belong to this owner. */
  findByUrl(owner: string, url: string): Promise<StoredObject | undefined>
  /** Returns true for a signed URL of this gateway or of the configured project. The query of such a URL is a credential. */
  hasTrustedOrigin(url: string): boolean
  readonly readObject: ObjectStore['readObject']
  readonly removeObject: ObjectStore['removeObject']
  describe(location: ObjectLocation): Promise<StoredObject | undefined>
  readonly findByDigest: ObjectStore['findObjectByDigest']
}

interface WebAttachmentDeps {
  readonly config: WebConfig
  readonly gateway: Pick<ChannelContext, 'system' | 'agents'>
  readonly objects: ObjectStore
  /** The keys that sign the gateway's own URLs. */
  readonly secret: SecretRing
}

export function createWebAttachments(deps: WebAttachmentDeps): WebAttachments {
  const { config, gateway, objects, secret } = deps
  const { system, agents } = gateway
  const { attachments, supabase } = config
  const { now } = system
  const signer = createUrlSigner({ origin: agents.origin, secret, lifetimeMs: attachments.url_ttl, now })
  return {
    signer,
    async store({ owner, threadId, runId, name, bytes }) {
      const mime = checkBytes(bytes, attachments)
      const folders = [toOwnerFolder(owner), threadId, runId ?? randomHex(system, 8)].map(toSegment)
      const path = [...folders, `${randomHex(system, 4)}-${toSegment(name ?? 'file')}`].join('/')
      return objects.putObject({ bucket: attachments.bucket, path, owner, mime, bytes }, attachments.max_total_bytes)
    },
    findOwn: (owner, location) => findOwn(owner, location, objects),
    async findByUrl(owner, url) {
      const signedUrl = parseSignedUrl(url)
      if (!signedUrl) return undefined
      if (signedUrl.origin === agents.origin) {
        return (await signer.isValidToken(signedUrl, signedUrl.token)) ? findOwn(owner, signedUrl, objects) : undefined
      }
      if (signedUrl.origin !== supabase?.project) return undefined
      const isTokenValid = await isValidUrlToken(signedUrl, signedUrl.token, {
        keys: [Buffer.from(supabase.jwt_secret)],
        now,
      })
      return isTokenValid ? fetchForeignFile({ owner, url, location: signedUrl }, deps) : undefined
    },
    hasTrustedOrigin: url => [agents.origin, supabase?.project].includes(findSignedOrigin(url)),
    readObject: objects.readObject,
    removeObject: objects.removeObject,
    describe: ({ bucket, path }) => objects.findObject(bucket, path),
    findByDigest: objects.findObjectByDigest,
  }
}

async function findOwn(
  owner: string,
  { bucket, path }: ObjectLocation,
  objects: ObjectStore,
): Promise<StoredObject | undefined> {
  const object =
    (await objects.findObject(bucket, path)) ?? (await objects.findObject(`${foreignBucketPrefix}${bucket}`, path))
  return object?.owner === owner ? object : undefined
}

function checkBytes(bytes: Uint8Array, { max_bytes, types }: WebConfig['attachments']): string {
  if (bytes.byteLength === 0) throw new Rejection('malformed', 'Cannot store attachment: it is empty')
  if (bytes.byteLength > max_bytes) {
    throw new Rejection('too_large', `Cannot store attachment: larger than ${max_bytes} bytes`)
  }
  const mime = detectMedia(bytes)
  if (admitsMedia(types, mime)) return mime
  throw new Rejection('unsupported', `Cannot store attachment: ${mime} is not accepted`)
}

interface ForeignFile {
  readonly owner: string
  readonly url: string
  readonly location: ObjectLocation
}

/**
 * Fetches a file of the configured project. A valid token proves that the project lets this person read the file. The gateway fetches the file once,
 * and then it belongs to this person.
 */
async function fetchForeignFile(
  { owner, url, location: { bucket, path } }: ForeignFile,
  { config: { attachments }, gateway, objects }: WebAttachmentDeps,
): Promise<StoredObject | undefined> {
  const location = { bucket: `${foreignBucketPrefix}${bucket}`, path }
  const existingObject = await objects.findObject(location.bucket, path)
  if (existingObject) return existingObject.owner === owner ? existingObject : undefined
  const limits = { maxBytes: attachments.max_bytes, timeoutMs: 15_000 }
  const { status, body } = await gateway.system.fetch(url, limits)
  if (status !== 200) return undefined
  const mime = checkBytes(body, attachments)
  return objects.putObject({ ...location, owner, mime, bytes: body }, attachments.max_total_bytes)
}

/** Returns a location in the form that its owner knows. */
export function showLocation({ bucket, path, mime }: StoredObject) {
  const name = bucket.startsWith(foreignBucketPrefix) ? bucket.slice(foreignBucketPrefix.length) : bucket
  return { bucket: name, path, mime_type: mime }
}

function toOwnerFolder(owner: string): string {
  return Buffer.from(owner).toString('hex').slice(-24)
}

/** Replaces everything except letters, digits and a few signs, so that a file name cannot lead to another path. */
function toSegment(text: string): string {
  return toPlainName(text.normalize('NFC')).toWellFormed() || '_'
}

function toPlainName(text: string): string {
  const plainName = text.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^\.+/, '_')
  return plainName.slice(-80)
}

/** The bucket of files from other channels. The store keeps them with their messages. */
const conversationBucket = 'conversations'

/** Returns the location of a file whose message was received or sent over another channel. */
export function locateStoredFile(
  { entry_id, via = 'web' }: Pick<TranscriptEntry, 'entry_id' | 'via'>,
  part: Part,
): (ObjectLocation & { readonly mime_type: string }) | undefined {
  const message = via === 'web' ? undefined : parseMessageNumber(entry_id)
  if (message === undefined || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  if (part.bytes_ref.kind !== 'content_addressed') return undefined
  const { name = 'file', mime = 'application/octet-stream', bytes_ref } = part
  return {
    bucket: conversationBucket,
    path: `${message}/${bytes_ref.digest}/${toPlainName(name) || 'file'}`,
    mime_type: mime,
  }
}

/** Returns the number of the message of an entry. The first entry of a turn has the turn's id, and the others append a number. */
function parseMessageNumber(entryId: string): number | undefined {
  const [turn, message] = /^[a-z]+-(\d+)(?=(?:\.\d+)?$)/.exec(entryId) ?? []
  return turn === formatTurnId(Number(message)) ? Number(message) : undefined
}

/** Reads the file at a location that a signature of this gateway names. */
export async function readStoredFile(
  { bucket, path }: ObjectLocation,
  { gateway }: { readonly gateway: Pick<ChannelContext, 'store'> },
): Promise<{ readonly bytes: Uint8Array; readonly mime?: string | undefined } | undefined> {
  const digest = parseStoredPath(bucket, path)?.digest
  return digest === undefined ? undefined : gateway.store.findBlob(digest)
}

export function parseStoredPath(bucket: string, path: string) {
  const [, message, digest] = (bucket === conversationBucket && /^(\d{1,15})\/([0-9a-f]{64})\/[^/]+$/.exec(path)) || []
  return message === undefined || digest === undefined ? undefined : { message: Number(message), digest }
}
