import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type {
  ArtifactPart,
  AttachmentBytes,
  Blob,
  BytesRef,
  FilePart,
  GuardedFetch,
  LookupStore,
  Part,
} from '@postern/core'
import { Rejection, Undeliverable } from '@postern/core'
import { findServedType, networkOf, peerAddress } from '@postern/http'
import { createResponseSemaphore } from '@postern/limits'
import { Hono } from 'hono'

export interface PublishedAttachments {
  /** Takes the bytes out of parts, to be kept once under their digest. */
  storeFiles(parts: readonly Part[]): { readonly parts: Part[]; readonly blobs: readonly Blob[] }
  /** For peers, which may come back for a file long after. */
  fileAddress(digest: string): string
  /** Gives stored files their signed, expiring address. */
  presentParts(parts: readonly Part[]): Part[]
  /** @throws Undeliverable when the bytes are gone or are not what the digest promises */
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
  readonly routes: Hono
}

export interface PublishedAttachmentsOptions {
  readonly store: LookupStore
  readonly origin: string
  readonly key: string
  readonly fetch: GuardedFetch
  readonly now: () => number
}

/** How long an address given to an agent works, ms. */
const lifetime = 24 * 3_600_000
/** How long one in a published document does: servers fetch what they show when somebody first looks, or once more. */
const publishedLifetime = 366 * 24 * 3_600_000
const dayMs = 24 * 3_600_000
const maxFetchedBytes = 25 * 1024 * 1024
/** Of one network address: an address of a published file is everybody's, and whoever asks may take nothing. */
const readsAtOnce = { width: 32, queue: 256 } as const

/** Stored files: handed out by signed address, read back by digest. */
export function createPublishedAttachments(options: PublishedAttachmentsOptions): PublishedAttachments {
  const { now } = options
  const signer = createAddressSigner(options)
  const readBytes = createBytesReader(options)
  return {
    storeFiles,
    // Of one day all addresses are the same, so that a document rendered again is, too.
    fileAddress: digest => signer.addressUntil(digest, Math.ceil(now() / dayMs) * dayMs + publishedLifetime),
    presentParts: parts =>
      parts.map(part => presentPart(part, digest => signer.addressUntil(digest, now() + lifetime))),
    readAttachment: async ({ bytes_ref, mime, name }, signal) => ({
      bytes: await readBytes(bytes_ref, signal),
      mime,
      name,
    }),
    routes: createAttachmentRoutes(options.store, signer),
  }
}

interface AddressSigner {
  /** The address of a stored file that works until `expires`, ms. */
  addressUntil(digest: string, expires: number): string
  /** @throws Rejection forbidden */
  checkToken(digest: string, token: string): void
}

function createAddressSigner({ origin, key, now }: PublishedAttachmentsOptions): AddressSigner {
  const sign = (digest: string, expires: number) =>
    createHmac('sha256', key).update(`${digest}.${expires}`).digest('base64url')
  return {
    addressUntil: (digest, expires) => `${origin}/attachments/${digest}?token=${expires}.${sign(digest, expires)}`,
    checkToken(digest, token) {
      const [expires = '', signature = ''] = token.split('.')
      const expected = Buffer.from(sign(digest, Number(expires)))
      const given = Buffer.from(signature)
      const isValid = given.length === expected.length && timingSafeEqual(given, expected)
      if (!isValid) throw new Rejection('forbidden', 'Cannot read attachment: the token is not valid')
      if (Number(expires) < now()) throw new Rejection('forbidden', 'Cannot read attachment: the token has expired')
    },
  }
}

function presentPart(part: Part, addressOf: (digest: string) => string): Part {
  if (part.kind !== 'file' && part.kind !== 'artifact') return part
  const { bytes_ref } = part
  if (bytes_ref.kind !== 'content_addressed') return part
  return { ...part, bytes_ref: { ...bytes_ref, url: addressOf(bytes_ref.digest) } }
}

function createBytesReader({ store, origin, fetch }: PublishedAttachmentsOptions) {
  return async (ref: BytesRef, signal: AbortSignal): Promise<Uint8Array> => {
    if (ref.kind === 'inline') return Buffer.from(ref.data_base64, 'base64')
    if (ref.kind === 'url') return fetchBytes(fetch, ref.url, signal)
    const { digest, url } = ref
    // A file of another host may be fetched from there; our own files are only here.
    const isElsewhere = url !== undefined && !url.startsWith(`${origin}/`) && !(await findBlob(store, digest))
    return isElsewhere ? fetchDigested(fetch, { url, digest }, signal) : (await readBlob(store, digest)).bytes
  }
}

function createAttachmentRoutes(store: LookupStore, { checkToken }: AddressSigner): Hono {
  const reads = createResponseSemaphore(readsAtOnce)
  return new Hono().get('/attachments/:digest', async context => {
    const digest = context.req.param('digest')
    checkToken(digest, context.req.query('token') ?? '')
    return reads.pass(networkOf(peerAddress(context.env)), context.env, async () => {
      const { bytes, mime } = await readBlob(store, digest)
      // Bytes under our own origin, maybe strangers': only media are named as what they are, nothing is rendered or guessed at.
      return context.body(new Uint8Array(bytes), 200, {
        'content-type': findServedType(mime).type,
        'content-disposition': 'attachment',
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, max-age=86400',
      })
    })
  })
}

function storeFiles(parts: readonly Part[]): { readonly parts: Part[]; readonly blobs: readonly Blob[] } {
  const blobs: Blob[] = []
  const stored = parts.map(part => {
    if ((part.kind !== 'file' && part.kind !== 'artifact') || part.bytes_ref.kind !== 'inline') return part
    const bytes = Buffer.from(part.bytes_ref.data_base64, 'base64')
    const digest = hash('sha256', bytes)
    blobs.push({ digest, bytes, mime: part.mime })
    return { ...part, size: bytes.length, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } } as const
  })
  return { parts: stored, blobs }
}

async function findBlob(store: LookupStore, digest: string): Promise<Blob | undefined> {
  return /^[0-9a-f]{64}$/.test(digest) ? store.findBlob(digest) : undefined
}

async function readBlob(store: LookupStore, digest: string): Promise<Blob> {
  const blob = await findBlob(store, digest)
  if (!blob) throw new Rejection('no_recipient', 'Cannot read attachment: there is none with this digest')
  return blob
}

async function fetchBytes(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const { status, body } = await fetch(url, { signal, maxBytes: maxFetchedBytes, timeoutMs: 30_000, redirects: 3 })
  if (status !== 200) throw new Undeliverable(`Cannot fetch attachment: its host answered ${status}`)
  return body
}

async function fetchDigested(
  fetch: GuardedFetch,
  { url, digest }: { readonly url: string; readonly digest: string },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await fetchBytes(fetch, url, signal)
  if (hash('sha256', bytes) === digest) return bytes
  throw new Undeliverable('Cannot fetch attachment: its bytes are not what the digest promises')
}
