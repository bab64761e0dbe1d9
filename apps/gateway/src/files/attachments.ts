// Serves stored files at signed URLs, and gives agents the files of their messages.
import { hash } from 'node:crypto'
import { findServedType, networkOf, peerAddress } from '@postern/http'
import { createResponseSemaphore } from '@postern/limits'
import type { ArtifactPart, FilePart, GuardedFetch, Part } from '@postern/message'
import type { AttachmentBytes, Blob, FileReader, LookupStore, SecretRing } from '@postern/pipeline'
import { Hono } from 'hono'
import { createBytesReader, readBlob } from './read-bytes.ts'
import type { FileUrlSigner } from './url-signer.ts'
import { createFileUrlSigner } from './url-signer.ts'

export interface PublishedAttachments {
  /** Moves the bytes out of parts, so that the store keeps them once, under their digest. */
  storeFiles(parts: readonly Part[]): { readonly parts: Part[]; readonly blobs: readonly Blob[] }
  /** Returns a URL for peers, who may fetch the file long after they get it. */
  fileAddress(digest: string): string
  /** Gives stored files their signed, expiring URL, for an agent (default) or for a peer. */
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

/** The lifetime of a URL for an agent, ms. */
const agentUrlTtlMs = 24 * 3_600_000
/** The lifetime of a URL in a published document, ms. Servers fetch a file when a reader first sees it, and later again. */
const publishedUrlTtlMs = 366 * 24 * 3_600_000
const dayMs = 24 * 3_600_000
/** The limits of concurrent downloads by one network address. Anyone may know the URL of a published file, and a client may stop reading it. */
const downloadLimits = { maxRunning: 32, maxWaiting: 256 } as const

/** Creates the routes and functions by which agents and peers get stored files. */
export function createPublishedAttachments(options: PublishedAttachmentsOptions): PublishedAttachments {
  const { now } = options
  const signer = createFileUrlSigner(options)
  const readBytes = createBytesReader(options)
  return {
    storeFiles,
    // All URLs of one day are equal, so that a document which is rendered again stays the same.
    fileAddress: digest => signer.signUrl(digest, Math.ceil(now() / dayMs) * dayMs + publishedUrlTtlMs),
    presentParts(parts, reader = 'agent') {
      const base = reader === 'agent' ? options.findLocalAddress?.() : undefined
      return parts.map(part => presentPart(part, digest => signer.signUrl(digest, now() + agentUrlTtlMs, base)))
    },
    readAttachment: async ({ bytes_ref, mime, name }, signal) => ({
      bytes: await readBytes(bytes_ref, signal),
      mime,
      name,
    }),
    routes: createAttachmentRoutes(options.store, signer),
  }
}

function presentPart(part: Part, signUrl: (digest: string) => string): Part {
  if (part.kind !== 'file' && part.kind !== 'artifact') return part
  const { bytes_ref } = part
  if (bytes_ref.kind !== 'content_addressed') return part
  return { ...part, bytes_ref: { ...bytes_ref, url: signUrl(bytes_ref.digest) } }
}

function createAttachmentRoutes(store: LookupStore, { checkToken }: FileUrlSigner): Hono {
  const semaphore = createResponseSemaphore(downloadLimits)
  return new Hono().get('/attachments/:digest', async context => {
    const digest = context.req.param('digest')
    checkToken(digest, context.req.query('token') ?? '')
    return semaphore.run(networkOf(peerAddress(context.env)), context.env, async () => {
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
