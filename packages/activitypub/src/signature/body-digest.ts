// Checks and formats the digests of a body in the `Digest` and `Content-Digest` headers.
import { hash, timingSafeEqual } from 'node:crypto'
import { Rejection } from '@postern/message'

/**
 * The digest algorithms: names of RFC 3230 (`Digest`) and RFC 9530 (`Content-Digest`), with their names in node:crypto. Other algorithms prove nothing and
 * are ignored.
 */
export const digestAlgorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

/**
 * Checks every digest of the `Digest` header with a known algorithm. There must be at least one (RFC 3230 §4.3.2).
 * @throws Rejection `signature_invalid`
 */
export function checkDigest(header: string | null, body: Uint8Array): void {
  const digests = (header ?? '').split(',').map(splitDigest)
  const knownDigests = digests.filter(({ algorithm }) => algorithm !== undefined)
  if (knownDigests.length === 0) throw refuseDigest('there is no SHA-256 digest of the body')
  if (
    knownDigests.length > 4 ||
    !knownDigests.every(({ algorithm, value }) => isDigestOf(body, algorithm as string, value))
  ) {
    throw refuseDigest('the digest is not that of the body')
  }
}

/** The digests of bodies we send. A post to many inboxes has one body, whose digest is computed once. */
const sentDigests = new WeakMap<Uint8Array, string>()

/** Formats the `Digest` header of a body we send. Nobody changes the bytes afterwards. */
export function formatDigest(body: Uint8Array): string {
  const digest = sentDigests.get(body) ?? `SHA-256=${hash('sha256', body, 'base64')}`
  sentDigests.set(body, digest)
  return digest
}

/** Splits an entry of the `Digest` header. Peers write the name in upper or lower case. The value is base64 and may contain `=`. */
function splitDigest(entry: string): { readonly algorithm: string | undefined; readonly value: string } {
  const [name = '', ...valueParts] = entry.trim().split('=')
  return { algorithm: digestAlgorithms.get(name.toLowerCase()), value: valueParts.join('=') }
}

/** Returns true if `value` (base64) is the digest of `body`. `algorithm` is a name of node:crypto. */
export function isDigestOf(body: Uint8Array, algorithm: string, value: string): boolean {
  const computedDigest = Buffer.from(hash(algorithm, body, 'base64'))
  const claimedDigest = Buffer.from(value)
  return computedDigest.length === claimedDigest.length && timingSafeEqual(computedDigest, claimedDigest)
}

export function refuseDigest(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: ${problem}`)
}
