import { createHmac, hash } from 'node:crypto'
import type { ByteStore, Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { WebConfig } from '../config.ts'

type S3Config = Extract<WebConfig['storage'], { readonly kind: 's3' }>

/** Bytes in a bucket of an S3-compatible store, addressed by path (`{endpoint}/{bucket}/{key}`). @throws Unavailable */
export function openS3Bytes(config: S3Config, { fetch, now }: Pick<Platform, 'fetch' | 'now'>): ByteStore {
  const credentials = { accessKey: config.access_key, secretKey: config.secret_key, region: config.region }
  const { origin, pathname } = new URL(config.endpoint)
  const base = `${origin}${pathname.replace(/\/+$/, '')}/${config.bucket}`

  async function send(method: 'GET' | 'PUT' | 'DELETE', key: string, body?: Uint8Array, mime?: string) {
    const url = `${base}/${encodeS3Path(key)}`
    const named = mime === undefined ? {} : { 'content-type': mime }
    const { host: _, ...headers } = signS3Request({ method, url, headers: named, body, at: now() }, credentials)
    return fetch(url, { method, headers, ...(body && { body }), timeoutMs: 30_000, maxBytes: 128 * 1024 * 1024 })
  }

  function refuse(status: number): Unavailable {
    return new Unavailable(`Cannot reach attachments: their store answered ${status}`, { status })
  }

  return {
    async write(key, bytes, mime) {
      const { status } = await send('PUT', key, bytes, mime)
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
  /** Without a query; its path is encoded already. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  /** ms */
  readonly at: number
}

/** The headers of a request, signed with AWS Signature Version 4 ("Authenticating Requests: Using the Authorization Header"). Pure. */
export function signS3Request(
  request: S3Request,
  { accessKey, secretKey, region }: { readonly accessKey: string; readonly secretKey: string; readonly region: string },
): Record<string, string> {
  const { method, url, headers = {}, body = new Uint8Array(), at } = request
  const { host, pathname } = new URL(url)
  const stamp = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const digest = hash('sha256', body)
  const own = { ...lowerNames(headers), host, 'x-amz-content-sha256': digest, 'x-amz-date': stamp }
  const names = Object.keys(own).sort()
  const lines = names.map(name => `${name}:${(own as Record<string, string>)[name]?.trim()}\n`).join('')
  const canonical = [method, pathname, '', lines, names.join(';'), digest].join('\n')
  const scope = `${stamp.slice(0, 8)}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', stamp, scope, hash('sha256', canonical)].join('\n')
  const signature = createHmac('sha256', deriveKey(secretKey, scope)).update(text).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`
  return { ...own, authorization }
}

function deriveKey(secretKey: string, scope: string): Buffer {
  const steps = scope.split('/')
  return steps.reduce<Buffer>(
    (key, step) => createHmac('sha256', key).update(step).digest(),
    Buffer.from(`AWS4${secretKey}`),
  )
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** S3 paths encode every byte but the unreserved ones (RFC 3986 §2.3). */
export function encodeS3Path(path: string): string {
  return path
    .split('/')
    .map(segment =>
      encodeURIComponent(segment).replace(/[!'()*]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')
}
