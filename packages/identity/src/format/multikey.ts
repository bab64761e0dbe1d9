import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { decodeBase58, encodeBase58 } from '@postern/core'

/** Multicodec of an Ed25519 public key, 0xed as a varint (Controlled Identifiers §2.2.2). */
const header = Buffer.from([0xed, 0x01])
const keyLength = 32

/** An Ed25519 public key as `publicKeyMultibase`. */
export function formatEd25519Multikey(publicKey: KeyObject): string {
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return `z${encodeBase58(Buffer.concat([header, Buffer.from(x, 'base64url')]))}`
}

/** Undefined when it is anything else than an Ed25519 public key. */
export function parseEd25519Multikey(text: string): KeyObject | undefined {
  const bytes = text.startsWith('z') ? decodeBase58(text.slice(1)) : undefined
  if (bytes?.length !== header.length + keyLength || !header.equals(bytes.subarray(0, header.length))) return undefined
  const x = Buffer.from(bytes.subarray(header.length)).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}
