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
  const text = body.text.replace(/\s{2,}|[^\S ]/g, ' ').trim()
  const files = body.files.map(({ digest }) => digest)
  const fullText = hashTexts([text, ...files])
  const textWithoutNumbers = removeNumbers(text)
  return {
    fullText,
    numberlessText: textWithoutNumbers === text ? fullText : hashTexts([textWithoutNumbers, ...files]),
  }
}

/**
 * Matches a word with a number from its digits to its end. The group is the whole word: most words have no digits, so only those that do are
 * read from their beginning.
 */
const numberPattern = /\d{3}[\p{L}\p{N}-]*(?<=([\p{L}\p{N}-]*))/gu

function removeNumbers(text: string): string {
  const pieces: string[] = []
  let position = 0
  for (const { 0: match, 1: word = match, index } of text.matchAll(numberPattern)) {
    const end = index + match.length
    pieces.push(text.slice(position, end - word.length), '#')
    position = end
  }
  return pieces.join('') + text.slice(position)
}

function hashTexts(texts: readonly string[]): string {
  return hash('sha256', texts.join(''), 'base64url').slice(0, 22)
}
