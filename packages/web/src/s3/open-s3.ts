import type { ByteStore, Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { WebConfig } from '../config.ts'
import { encodeS3Path, signS3Request } from './sign-request.ts'

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
