import { findClosingQuote } from '@postern/http'

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const openBrace = 0x7b

/**
 * Whether JSON text has more than `most` members and items in all. Many tiny values cost a parser, and all later code, far more than their
 * bytes. It counts before parsing; strings may contain any number of commas.
 */
export function hasMoreMembers(bytes: Uint8Array, most: number): boolean {
  return hasMoreSeparators(bytes, most) && countsMore(bytes, most)
}

/** The native search is fast and enough for most documents. */
function hasMoreSeparators(bytes: Uint8Array, most: number): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (const separator of [comma, openBracket, openBrace]) {
    for (let at = view.indexOf(separator); at >= 0 && count <= most; at = view.indexOf(separator, at + 1)) count += 1
  }
  return count > most
}

function countsMore(bytes: Uint8Array, most: number): boolean {
  let count = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = findClosingQuote(bytes, at)
    else if (byte === comma || byte === openBracket || byte === openBrace) count += 1
    if (count > most) return true
  }
  return false
}
