import { hash, timingSafeEqual } from 'node:crypto'
import { Rejection } from '@postern/core'

/** Names of RFC 3230 (`Digest`) and RFC 9530 (`Content-Digest`) → node:crypto names. Others prove nothing and are passed over. */
export const digestAlgorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

/**
 * Checks every digest of the `Digest` header whose algorithm we know, and that there is one (RFC 3230 §4.3.2).
 * @throws Rejection `signature_invalid`
 */
export function checkDigest(header: string | null, body: Uint8Array): void {
  const digests = (header ?? '').split(',').map(splitDigest)
  const known = digests.filter(({ algorithm }) => algorithm !== undefined)
  if (known.length === 0) throw invalidDigest('there is no SHA-256 digest of the body')
  if (known.length > 4 || !known.every(({ algorithm, value }) => isDigestOf(body, algorithm as string, value))) {
    throw invalidDigest('the digest is not that of the body')
  }
}

/** The `Digest` header of a body we send. */
export function formatDigest(body: Uint8Array | string): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/** Peers write the name in either case; the value is base64 and may hold `=`. */
function splitDigest(entry: string): { readonly algorithm: string | undefined; readonly value: string } {
  const [name = '', ...value] = entry.trim().split('=')
  return { algorithm: digestAlgorithms.get(name.toLowerCase()), value: value.join('=') }
}

/** Whether `value` (base64) is the digest of `body`; `algorithm` is a name of node:crypto. */
export function isDigestOf(body: Uint8Array, algorithm: string, value: string): boolean {
  const computed = Buffer.from(hash(algorithm, body, 'base64'))
  const claimed = Buffer.from(value)
  return computed.length === claimed.length && timingSafeEqual(computed, claimed)
}

function invalidDigest(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: ${problem}`)
}
