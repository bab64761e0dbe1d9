import type { ChannelContext, ObjectStore, Part, StoredObject } from '@postern/core'
import { formatTurnId, Rejection, randomHex } from '@postern/core'
import { admitsMedia, detectMedia } from '@postern/http'
import type { TranscriptEntry } from '@postern/transcript'
import type { WebConfig } from '../config.ts'
import type { ObjectPlace, UrlSigner } from './signed-url.ts'
import { createUrlSigner, holdsToken, parseSignedUrl } from './signed-url.ts'

/** The store keeps objects of a foreign project in its buckets' names with this prefix. */
const foreignPrefix = 'supabase.'

export interface Upload {
  readonly owner: string
  readonly threadId: string
  readonly runId?: string | undefined
  readonly name?: string | undefined
  readonly bytes: Uint8Array
}

/** Attachments of people: each is its owner's alone. */
export interface WebAttachments {
  readonly signer: UrlSigner
  /** @throws Rejection too_large, unsupported */
  store(upload: Upload): Promise<StoredObject>
  /** What this owner has at a place. Objects of other owners are not found. */
  findOwn(owner: string, place: ObjectPlace): Promise<StoredObject | undefined>
  /** The file behind a signed URL of ours or of the configured project. Its token must hold and the file must be this owner's. */
  findByUrl(owner: string, url: string): Promise<StoredObject | undefined>
  readonly readObject: ObjectStore['readObject']
  readonly removeObject: ObjectStore['removeObject']
  describe(place: ObjectPlace): Promise<StoredObject | undefined>
  readonly findByDigest: ObjectStore['findObjectByDigest']
}

interface WebAttachmentDeps {
  readonly config: WebConfig
  readonly gateway: Pick<ChannelContext, 'platform' | 'agents'>
  readonly objects: ObjectStore
  /** Signs our URLs. */
  readonly key: Uint8Array
}

export function createWebAttachments(deps: WebAttachmentDeps): WebAttachments {
  const { config, gateway, objects, key } = deps
  const { platform, agents } = gateway
  const { attachments, supabase } = config
  const { now } = platform
  const signer = createUrlSigner({ origin: agents.origin, key, lifetime: attachments.url_ttl, now })
  return {
    signer,
    async store({ owner, threadId, runId, name, bytes }) {
      const mime = checkBytes(bytes, attachments)
      const folders = [folderOf(owner), threadId, runId ?? randomHex(platform, 8)].map(toSegment)
      const path = [...folders, `${randomHex(platform, 4)}-${toSegment(name ?? 'file')}`].join('/')
      return objects.putObject({ bucket: attachments.bucket, path, owner, mime, bytes }, attachments.max_total_bytes)
    },
    findOwn: (owner, place) => findOwn(owner, place, objects),
    async findByUrl(owner, url) {
      const named = parseSignedUrl(url)
      if (!named) return undefined
      if (named.origin === agents.origin) {
        return (await signer.holds(named, named.token)) ? findOwn(owner, named, objects) : undefined
      }
      if (named.origin !== supabase?.project) return undefined
      const isHeld = await holdsToken(named, named.token, { key: Buffer.from(supabase.jwt_secret), now })
      return isHeld ? takeForeign({ owner, url, place: named }, deps) : undefined
    },
    readObject: objects.readObject,
    removeObject: objects.removeObject,
    describe: ({ bucket, path }) => objects.findObject(bucket, path),
    findByDigest: objects.findObjectByDigest,
  }
}

async function findOwn(
  owner: string,
  { bucket, path }: ObjectPlace,
  objects: ObjectStore,
): Promise<StoredObject | undefined> {
  const found =
    (await objects.findObject(bucket, path)) ?? (await objects.findObject(`${foreignPrefix}${bucket}`, path))
  return found?.owner === owner ? found : undefined
}

function checkBytes(bytes: Uint8Array, { max_bytes, types }: WebConfig['attachments']): string {
  if (bytes.byteLength === 0) throw new Rejection('malformed', 'Cannot store attachment: it is empty')
  if (bytes.byteLength > max_bytes) {
    throw new Rejection('too_large', `Cannot store attachment: larger than ${max_bytes} bytes`)
  }
  const mime = detectMedia(bytes)
  if (admitsMedia(types, mime)) return mime
  throw new Rejection('unsupported', `Cannot store attachment: ${mime} is not taken`)
}

interface ForeignFile {
  readonly owner: string
  readonly url: string
  readonly place: ObjectPlace
}

/** A valid token proves that the project lets this person read the file. The gateway fetches it once; then it is their own. */
async function takeForeign(
  { owner, url, place: { bucket, path } }: ForeignFile,
  { config: { attachments }, gateway, objects }: WebAttachmentDeps,
): Promise<StoredObject | undefined> {
  const place = { bucket: `${foreignPrefix}${bucket}`, path }
  const known = await objects.findObject(place.bucket, path)
  if (known) return known.owner === owner ? known : undefined
  const limits = { maxBytes: attachments.max_bytes, timeoutMs: 15_000 }
  const { status, body } = await gateway.platform.fetch(url, limits)
  if (status !== 200) return undefined
  const mime = checkBytes(body, attachments)
  return objects.putObject({ ...place, owner, mime, bytes: body }, attachments.max_total_bytes)
}

/** The place as its owner knows it. */
export function showPlace({ bucket, path, mime }: StoredObject) {
  const name = bucket.startsWith(foreignPrefix) ? bucket.slice(foreignPrefix.length) : bucket
  return { bucket: name, path, mime_type: mime }
}

function folderOf(owner: string): string {
  return Buffer.from(owner).toString('hex').slice(-24)
}

/** Keeps letters, digits and little else, so that a file's name cannot lead to another path. */
function toSegment(text: string): string {
  const plain = text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/, '_')
  return plain.slice(-80).toWellFormed() || '_'
}

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
