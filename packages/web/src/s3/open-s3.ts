// Stores files in a bucket of an S3-compatible store.
import { hash } from 'node:crypto'
import type { ByteStoreSystem } from '@postern/http'
import type { ByteStore } from '@postern/message'
import { Unavailable } from '@postern/message'
import { AwsV4Signer } from 'aws4fetch'
import type { WebConfig } from '../config.ts'

type S3Config = Extract<WebConfig['storage'], { readonly kind: 's3' }>

interface S3Body {
  readonly body?: Uint8Array
  readonly mime?: string | undefined
}

/** Opens a bucket of an S3-compatible store, addressed by path (`{endpoint}/{bucket}/{key}`). @throws Unavailable */
export function openS3Bytes(config: S3Config, { fetchFor, now }: ByteStoreSystem): ByteStore {
  const { access_key: accessKeyId, secret_key: secretAccessKey, region } = config
  const { origin, pathname } = new URL(config.endpoint)
  const fetch = fetchFor(origin)
  const base = `${origin}${pathname.replace(/\/+$/, '')}/${config.bucket}`

  async function send(method: S3Request['method'], key: string, { body, mime }: S3Body = {}) {
    const url = `${base}/${encodeS3Path(key)}`
    const typeHeader = mime === undefined ? {} : { 'content-type': mime }
    const request = { method, url, headers: typeHeader, body, signedAt: now() } as const
    const headers = await signS3Request(request, { accessKeyId, secretAccessKey, region })
    return fetch(url, { method, headers, ...(body && { body }), timeoutMs: 30_000, maxBytes: 128 * 1024 * 1024 })
  }

  function refuse(status: number): Unavailable {
    return new Unavailable(`Cannot reach attachments: their store answered ${status}`, { status })
  }

  return {
    name: `s3 ${base}`,
    async write(key, bytes, mime) {
      const { status } = await send('PUT', key, { body: bytes, mime })
      if (status !== 200 && status !== 201) throw refuse(status)
    },
    async read(key) {
      const { status, body } = await send('GET', key)
      if (status === 404) return undefined
      if (status !== 200) throw refuse(status)
      return body
    },
    async remove(key) {
      const { status } = await send('DELETE', key)
      if (status !== 200 && status !== 204 && status !== 404) throw refuse(status)
    },
  }
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  /** The URL without a query. Its path is encoded once. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  /** The time of the request, ms since the epoch. */
  readonly signedAt: number
}

interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

/** Signs a request with its body by AWS Signature Version 4, and returns its headers. */
export async function signS3Request(
  { method, url, headers, body = new Uint8Array(), signedAt }: S3Request,
  credentials: S3Credentials,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    ...credentials,
    service: 's3',
    method,
    url,
    headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body) },
    allHeaders: true,
    datetime: new Date(signedAt).toISOString().replace(/[-:]|\.\d{3}/g, ''),
  })
  return Object.fromEntries((await signer.sign()).headers)
}

/**
 * Encodes a path in the signed form: every byte except the unreserved ones (RFC 3986 §2.3). Some stores compare the path in the request with the
 * signed one.
 */
export function encodeS3Path(path: string): string {
  return path
    .split('/')
    .map(segment =>
      encodeURIComponent(segment).replace(/[!'()*]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')
}
