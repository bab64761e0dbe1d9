// Computes digests of a mail's text, to find mails with the same text.

import { hash } from 'node:crypto'
import type { ProvenMail } from '../authenticate/proven-mail.ts'

/** Digests of the text and the files of a mail. */
export interface TextDigests {
  readonly fullText: string
  /** The digest of the text without its numbers, because a ticket system changes them from mail to mail. */
  readonly numberlessText: string
}

/** Computes the digests of the newest text and the files of a mail. */
export function digestMailText({ body }: ProvenMail): TextDigests {
  const text = body.text.replace(/\s+/g, ' ').trim()
  const files = body.files.map(({ digest }) => digest)
  const fullText = hashTexts([text, ...files])
  return { fullText, numberlessText: numberPattern.test(text) ? hashTexts([removeNumbers(text), ...files]) : fullText }
}

/** Matches the digits by which a word counts as a number. */
const numberPattern = /\d{3}/

function removeNumbers(text: string): string {
  // Words contain no spaces, so only the few pieces with digits are searched for words.
  return text
    .split(' ')
    .map(piece => (numberPattern.test(piece) ? replaceNumbers(piece) : piece))
    .join(' ')
}

function replaceNumbers(piece: string): string {
  return piece.replace(/[\p{L}\p{N}-]+/gu, word => (numberPattern.test(word) ? '#' : word))
}

function hashTexts(texts: readonly string[]): string {
  return hash('sha256', texts.join(''), 'base64url').slice(0, 22)
}
