// Decodes the encoded words of header fields, and removes control and invisible characters.

import { readVisibleText } from '@postern/message/visible-text'
import { decodeWords } from '../text/encoded-word.ts'
import type { HeaderBlock } from './header.ts'
import { findField } from './header.ts'

/**
 * Returns the readable text of a header value: decodes encoded words (RFC 2047), turns control characters into spaces and
 * removes invisible ones.
 */
export function decodeHeaderText(value: string): string {
  return readVisibleText(withoutControls(decodeWords(value))).text.trim()
}

/** Returns true if a header value has invisible characters, which can hide text that only machines read. */
export function hidesInHeader(value: string): boolean {
  return readVisibleText(withoutControls(decodeWords(value))).removedCount > 0
}

/** Returns text that is safe in one header line: controls, line ends and direction overrides become single spaces. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

export function readHeaderText(header: HeaderBlock, name: string): string {
  return decodeHeaderText(findField(header, name) ?? '').slice(0, 900)
}
