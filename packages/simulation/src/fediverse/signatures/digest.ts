import { createHash } from 'node:crypto'

/** `SHA-256=…`, the `Digest` of RFC 3230 as the fediverse writes it. */
export function computeDigest(body: Uint8Array): string {
  return `SHA-256=${sha256(body)}`
}

/** `sha-256=:…:`, the `Content-Digest` of RFC 9530. */
export function computeContentDigest(body: Uint8Array): string {
  return `sha-256=:${sha256(body)}:`
}

function sha256(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64')
}
