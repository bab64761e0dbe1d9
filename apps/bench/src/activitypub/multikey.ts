import type { KeyObject } from 'node:crypto'

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** An Ed25519 public key as a Multikey names it: base58btc of its multicodec prefix and its 32 bytes (FEP-521a). */
export function encodeEd25519Key(key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' })
  const bytes = Buffer.concat([Buffer.from([0xed, 0x01]), Buffer.from(x, 'base64url')])
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (; rest > 0n; rest /= 58n) text = `${alphabet[Number(rest % 58n)]}${text}`
  return `z${text}`
}
