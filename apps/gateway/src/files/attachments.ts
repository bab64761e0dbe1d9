// Serves stored files at signed addresses, and reads files of messages for agents.
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { findServedType, networkOf, peerAddress } from '@postern/http'
import { createResponseSemaphore } from '@postern/limits'
import type { ArtifactPart, BytesRef, FilePart, GuardedFetch, Part } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AttachmentBytes, Blob, FileReader, LookupStore, SecretRing } from '@postern/pipeline'
import { Hono } from 'hono'

export interface PublishedAttachments {
  /** Moves the bytes out of parts, so that the store keeps them once, under their digest. */
  storeFiles(parts: readonly Part[]): { readonly parts: Part[]; readonly blobs: readonly Blob[] }
  /** Returns an address for peers, who may fetch the file long after they get it. */
  fileAddress(digest: string): string
  /** Gives stored files their signed, expiring address, for an agent (default) or for a peer. */
  presentParts(parts: readonly Part[], reader?: FileReader): Part[]
  /** Reads the bytes of a file. @throws Undeliverable if the bytes were deleted, cannot be fetched or do not match the digest */
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
  readonly routes: Hono
}

export interface PublishedAttachmentsOptions {
  readonly store: LookupStore
  readonly origin: string
  readonly secret: SecretRing
  readonly fetch: GuardedFetch
  readonly now: () => number
  /** Returns the address on this machine if the origin leads elsewhere. Agents fetch files from it. */
  findLocalAddress?(): string | undefined
}

/** The lifetime of an address for an agent, ms. */
const lifetime = 24 * 3_600_000
/** The lifetime of an address in a published document, ms. Servers fetch a file when a reader first sees it, and later again. */
const publishedLifetime = 366 * 24 * 3_600_000
const dayMs = 24 * 3_600_000
const maxFetchedBytes = 25 * 1024 * 1024
/** Concurrent downloads of one network address. Everybody may know the address of a published file, and a reader may take no bytes. */
const readsAtOnce = { maxRunning: 32, maxWaiting: 256 } as const

export function createPublishedAttachments(options: PublishedAttachmentsOptions): PublishedAttachments {
  const { now } = options
  const signer = createAddressSigner(options)
  const readBytes = createBytesReader(options)
  return {
    storeFiles,
    // All addresses of one day are equal, so that a document which is rendered again stays the same.
    fileAddress: digest => signer.addressUntil(digest, Math.ceil(now() / dayMs) * dayMs + publishedLifetime),
    presentParts(parts, reader = 'agent') {
      const base = reader === 'agent' ? options.findLocalAddress?.() : undefined
      return parts.map(part => presentPart(part, digest => signer.addressUntil(digest, now() + lifetime, base)))
    },
    readAttachment: async ({ bytes_ref, mime, name }, signal) => ({
      bytes: await readBytes(bytes_ref, signal),
      mime,
      name,
    }),
    routes: createAttachmentRoutes(options.store, signer),
  }
}

interface AddressSigner {
  /** Returns the address of a stored file, valid until `expires`, ms. */
  addressUntil(digest: string, expires: number, base?: string): string
  /** Checks that a token allows access to a file. @throws Rejection forbidden */
  checkToken(digest: string, token: string): void
}

function createAddressSigner({ origin, secret, now }: PublishedAttachmentsOptions): AddressSigner {
  const listSignatures = (digest: string, expires: number) =>
    secret.list().map(key => createHmac('sha256', key).update(`${digest}.${expires}`).digest('base64url'))
  return {
    addressUntil: (digest, expires, base = origin) =>
      `${base}/attachments/${digest}?token=${expires}.${listSignatures(digest, expires)[0]}`,
    checkToken(digest, token) {
      const [expires = '', signature = ''] = token.split('.')
      const givenSignature = Buffer.from(signature)
      const expected = listSignatures(digest, Number(expires)).map(expectedSignature => Buffer.from(expectedSignature))
      const isValid = expected.some(
        expectedSignature =>
          givenSignature.length === expectedSignature.length && timingSafeEqual(givenSignature, expectedSignature),
      )
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
    // A file of another host may be fetched from there. The gateway’s own files are only in its store.
    const isElsewhere = url !== undefined && !url.startsWith(`${origin}/`) && !(await findBlob(store, digest))
    return isElsewhere ? fetchDigested(fetch, { url, digest }, signal) : (await readBlob(store, digest)).bytes
  }
}

function createAttachmentRoutes(store: LookupStore, { checkToken }: AddressSigner): Hono {
  const reads = createResponseSemaphore(readsAtOnce)
  return new Hono().get('/attachments/:digest', async context => {
    const digest = context.req.param('digest')
    checkToken(digest, context.req.query('token') ?? '')
    return reads.run(networkOf(peerAddress(context.env)), context.env, async () => {
      const { bytes, mime } = await readBlob(store, digest)
      // The bytes may come from strangers, but have the gateway’s origin. Only media keep their type, and browsers render and sniff nothing.
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
  const storedParts = parts.map(part => {
    if ((part.kind !== 'file' && part.kind !== 'artifact') || part.bytes_ref.kind !== 'inline') return part
    const bytes = Buffer.from(part.bytes_ref.data_base64, 'base64')
    const digest = hash('sha256', bytes)
    blobs.push({ digest, bytes, mime: part.mime })
    return { ...part, size: bytes.length, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } } as const
  })
  return { parts: storedParts, blobs }
}

async function findBlob(store: LookupStore, digest: string): Promise<Blob | undefined> {
  return /^[0-9a-f]{64}$/.test(digest) ? store.findBlob(digest) : undefined
}

async function readBlob(store: LookupStore, digest: string): Promise<Blob> {
  const blob = await findBlob(store, digest)
  if (!blob) throw new Rejection('no_recipient', 'Cannot read attachment: there is no file with this digest')
  return blob
}

/** The time that a turn waits for the host of a file, ms. */
const fetchTimeoutMs = 15_000

/**
 * Fetches a file from the address that a peer gave.
 * @throws Undeliverable even if its host does not answer, so that the agent learns of the failure; a retry of its turn would continue for days
 */
async function fetchBytes(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const request = { signal, maxBytes: maxFetchedBytes, timeoutMs: fetchTimeoutMs, redirects: 3 }
  const { status, body } = await fetch(url, request).catch(error => {
    if (signal.aborted || !(error instanceof Unavailable)) throw error
    throw new Undeliverable('Cannot fetch attachment: its host does not answer', { cause: error })
  })
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
  throw new Undeliverable('Cannot fetch attachment: its bytes do not match the digest')
}
