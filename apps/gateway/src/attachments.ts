import { createHmac, timingSafeEqual } from 'node:crypto'
import type {
  ArtifactPart,
  AttachmentBytes,
  Blob,
  BytesRef,
  FilePart,
  GuardedFetch,
  LookupDesk,
  Part,
} from '@postern/core'
import { Rejection, Undeliverable } from '@postern/core'
import { Hono } from 'hono'

export interface AttachmentShelf {
  /** Gives stored files their signed, expiring address. */
  presentParts(parts: readonly Part[]): Part[]
  /** @throws Undeliverable when the bytes are gone or are not what the digest promises */
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
  readonly routes: Hono
}

export interface ShelfOptions {
  readonly desk: LookupDesk
  readonly origin: string
  readonly key: string
  readonly fetch: GuardedFetch
  readonly now: () => number
}

/** How long a signed address works, ms. */
const lifetime = 24 * 3_600_000
const maxFetchedBytes = 25 * 1024 * 1024

/** Stored files: handed out by signed address, read back by digest. */
export function createAttachmentShelf({ desk, origin, key, fetch, now }: ShelfOptions): AttachmentShelf {
  const sign = (digest: string, expires: number) =>
    createHmac('sha256', key).update(`${digest}.${expires}`).digest('base64url')

  function presentPart(part: Part): Part {
    if (part.kind !== 'file' && part.kind !== 'artifact') return part
    const { bytes_ref } = part
    if (bytes_ref.kind !== 'content_addressed') return part
    const expires = now() + lifetime
    const url = `${origin}/attachments/${bytes_ref.digest}?token=${expires}.${sign(bytes_ref.digest, expires)}`
    return { ...part, bytes_ref: { ...bytes_ref, url } }
  }

  function checkToken(digest: string, token: string): void {
    const [expires = '', signature = ''] = token.split('.')
    const expected = Buffer.from(sign(digest, Number(expires)))
    const given = Buffer.from(signature)
    const isValid = given.length === expected.length && timingSafeEqual(given, expected)
    if (!isValid) throw new Rejection('forbidden', 'Cannot read attachment: the token is not valid')
    if (Number(expires) < now()) throw new Rejection('forbidden', 'Cannot read attachment: the token has expired')
  }

  const readers: {
    readonly [Kind in BytesRef['kind']]: (
      ref: Extract<BytesRef, { kind: Kind }>,
      signal: AbortSignal,
    ) => Promise<Uint8Array>
  } = {
    inline: async ({ data_base64 }) => Buffer.from(data_base64, 'base64'),
    content_addressed: async ({ digest }) => (await readBlob(desk, digest)).bytes,
    url: async ({ url }, signal) => fetchBytes(fetch, url, signal),
  }

  const routes = new Hono().get('/attachments/:digest', async context => {
    const digest = context.req.param('digest')
    checkToken(digest, context.req.query('token') ?? '')
    const { bytes } = await readBlob(desk, digest)
    // Strangers' bytes under our own origin: never rendered, never guessed at.
    return context.body(new Uint8Array(bytes), 200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=86400',
    })
  })

  return {
    presentParts: parts => parts.map(presentPart),
    async readAttachment({ bytes_ref, mime, name }, signal) {
      const read = readers[bytes_ref.kind] as (ref: BytesRef, signal: AbortSignal) => Promise<Uint8Array>
      return { bytes: await read(bytes_ref, signal), mime, name }
    },
    routes,
  }
}

async function readBlob(desk: LookupDesk, digest: string): Promise<Blob> {
  const blob = /^[0-9a-f]{64}$/.test(digest) ? await desk.findBlob(digest) : undefined
  if (!blob) throw new Rejection('no_recipient', 'Cannot read attachment: there is none with this digest')
  return blob
}

async function fetchBytes(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const { status, body } = await fetch(url, { signal, maxBytes: maxFetchedBytes, timeoutMs: 30_000, redirects: 3 })
  if (status !== 200) throw new Undeliverable(`Cannot fetch attachment: its host answered ${status}`)
  return body
}
