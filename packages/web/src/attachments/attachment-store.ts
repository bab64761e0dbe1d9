import type { ChannelContext, ObjectStore, StoredObject } from '@postern/core'
import { Rejection, randomHex } from '@postern/core'
import type { WebConfig } from '../config.ts'
import { admitsMedia, detectMedia } from './media-kind.ts'
import type { ObjectPlace, UrlSigner } from './signed-url.ts'
import { createUrlSigner, holdsToken, parseSignedUrl } from './signed-url.ts'

/** Objects of a foreign project are kept under its buckets' names behind this. */
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
  /** What this owner has at a place; places of others are none. */
  findOwn(owner: string, place: ObjectPlace): Promise<StoredObject | undefined>
  /** What a signed URL names, when it is of ours or of the configured project, its token holds and the file is this owner's. */
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
  /** Of the signatures under our URLs. */
  readonly key: Uint8Array
}

export function createWebAttachments({ config, gateway, objects, key }: WebAttachmentDeps): WebAttachments {
  const { platform, agents } = gateway
  const { attachments, supabase } = config
  const { now } = platform
  const signer = createUrlSigner({ origin: agents.origin, key, lifetime: attachments.url_ttl, now })

  async function findOwn(owner: string, { bucket, path }: ObjectPlace): Promise<StoredObject | undefined> {
    const found =
      (await objects.findObject(bucket, path)) ?? (await objects.findObject(`${foreignPrefix}${bucket}`, path))
    return found?.owner === owner ? found : undefined
  }

  function checkBytes(bytes: Uint8Array): string {
    if (bytes.byteLength === 0) throw new Rejection('malformed', 'Cannot store attachment: it is empty')
    if (bytes.byteLength > attachments.max_bytes) {
      throw new Rejection('too_large', `Cannot store attachment: larger than ${attachments.max_bytes} bytes`)
    }
    const mime = detectMedia(bytes)
    if (!admitsMedia(attachments.types, mime)) {
      throw new Rejection('unsupported', `Cannot store attachment: ${mime} is not taken`)
    }
    return mime
  }

  /** Its token has proven that its project lets this person read it: fetched once, and his own from then on. */
  async function takeForeign(
    owner: string,
    url: string,
    { bucket, path }: ObjectPlace,
  ): Promise<StoredObject | undefined> {
    const known = await objects.findObject(`${foreignPrefix}${bucket}`, path)
    if (known) return known.owner === owner ? known : undefined
    const { status, body } = await platform.fetch(url, { maxBytes: attachments.max_bytes, timeoutMs: 15_000 })
    if (status !== 200) return undefined
    const mime = checkBytes(body)
    return objects.putObject(
      { bucket: `${foreignPrefix}${bucket}`, path, owner, mime, bytes: body },
      attachments.max_total_bytes,
    )
  }

  return {
    signer,
    async store({ owner, threadId, runId, name, bytes }) {
      const mime = checkBytes(bytes)
      const folders = [folderOf(owner), threadId, runId ?? randomHex(platform, 8)].map(toSegment)
      const path = [...folders, `${randomHex(platform, 4)}-${toSegment(name ?? 'file')}`].join('/')
      return objects.putObject({ bucket: attachments.bucket, path, owner, mime, bytes }, attachments.max_total_bytes)
    },
    findOwn,
    async findByUrl(owner, url) {
      const named = parseSignedUrl(url)
      if (!named) return undefined
      if (named.origin === agents.origin) {
        return (await signer.holds(named, named.token)) ? findOwn(owner, named) : undefined
      }
      if (named.origin !== supabase?.project) return undefined
      const isHeld = await holdsToken(named, named.token, { key: Buffer.from(supabase.jwt_secret), now })
      return isHeld ? takeForeign(owner, url, named) : undefined
    },
    readObject: objects.readObject,
    removeObject: objects.removeObject,
    describe: ({ bucket, path }) => objects.findObject(bucket, path),
    findByDigest: objects.findObjectByDigest,
  }
}

/** The place as its owner knows it. */
export function showPlace({ bucket, path, mime }: StoredObject) {
  const name = bucket.startsWith(foreignPrefix) ? bucket.slice(foreignPrefix.length) : bucket
  return { bucket: name, path, mime_type: mime }
}

function folderOf(owner: string): string {
  return Buffer.from(owner).toString('hex').slice(-24)
}

/** Letters, digits and little else: what a person calls a file leads nowhere. */
function toSegment(text: string): string {
  const plain = text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/, '_')
  return plain.slice(-80).toWellFormed() || '_'
}
