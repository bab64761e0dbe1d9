// Signs tokens as compact JWS.
import type { KeyObject } from 'node:crypto'
import { generateKeyPairSync, sign } from 'node:crypto'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export interface JwsKey {
  readonly privateKey: KeyObject
  /** The public key, as its owner publishes it. */
  readonly jwk: object
}

export function makeJwsKey(): JwsKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

/** Creates a compact JWS with ES256 (RFC 7515 §3.1, RFC 7518 §3.4). */
export function signJws(header: object, claims: object, { privateKey: key }: JwsKey): string {
  const input = `${encode({ alg: 'ES256', ...header })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}
