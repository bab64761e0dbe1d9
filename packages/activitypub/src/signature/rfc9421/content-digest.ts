import { hash } from 'node:crypto'
import { Rejection } from '@postern/core'
import { digestAlgorithms, isDigestOf } from '../digest.ts'
import { parseByteSequences } from './structured-field.ts'

/**
 * Checks every digest of the `Content-Digest` header whose algorithm we know, and that there is one (RFC 9530 §2).
 * @throws Rejection `signature_invalid`
 */
export function checkContentDigest(header: string | null, body: Uint8Array): void {
  const known = [...parseByteSequences(header ?? '', 'Content-Digest')].flatMap(([name, value]) => {
    const algorithm = digestAlgorithms.get(name)
    return algorithm ? [{ algorithm, value }] : []
  })
  if (known.length === 0) throw invalidContent('there is no sha-256 or sha-512 digest of the content')
  if (!known.every(({ algorithm, value }) => isDigestOf(body, algorithm, Buffer.from(value).toString('base64')))) {
    throw invalidContent('the digest is not that of the content')
  }
}

/** The `Content-Digest` header of a body we send. */
export function formatContentDigest(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`
}

function invalidContent(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: ${problem}`)
}
