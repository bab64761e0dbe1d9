// Encodes and decodes base58btc, the form of keys and signatures in multibase.

import { base58 } from '@scure/base'

/** The maximum number of bytes that are decoded. Keys and signatures are short, and decoding takes quadratic time. */
const maxBytes = 128

/** Returns bytes as base58btc; each leading zero byte becomes a `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  return base58.encode(bytes)
}

/** Returns the bytes of a base58btc text; undefined for other text, and for text that is too long. */
export function decodeBase58(text: string): Uint8Array | undefined {
  if (text.length > maxBytes * 1.4) return undefined
  try {
    return base58.decode(text)
  } catch {
    return undefined
  }
}
