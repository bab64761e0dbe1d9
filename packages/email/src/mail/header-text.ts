// Decodes the encoded words of header fields, and removes control and invisible characters.

import { readVisibleText } from '@postern/message/visible-text'
import { decodeWords } from '../text/encoded-word.ts'
import type { HeaderBlock } from './header.ts'
import { findField } from './header.ts'

/**
 * Returns the readable text of a header value. Encoded words (RFC 2047) are decoded, control characters become spaces,
 * and invisible characters are removed.
 */
export function decodeHeaderText(value: string): string {
  return readVisibleText(replaceControls(decodeWords(value))).text.trim()
}

/** Returns true if a header value has invisible characters, which can hide text that only machines read. */
export function hasInvisibleCharacters(value: string): boolean {
  return readVisibleText(replaceControls(decodeWords(value))).removedCount > 0
}

/**
 * Returns text that is safe in one header line. Control characters, line ends and direction overrides become single
 * spaces.
 */
export function replaceControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

/** Returns the readable text of the first field of this name, with at most 900 characters. */
export function readHeaderText(header: HeaderBlock, name: string): string {
  return decodeHeaderText(findField(header, name) ?? '').slice(0, 900)
}
