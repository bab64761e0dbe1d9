// Computes digests of a mail's text, to find mails with the same text.

import { createHash } from 'node:crypto'
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
  const textWithoutNumbers = text.replace(/[\p{L}\p{N}-]+/gu, word => (/\d{3}/.test(word) ? '#' : word))
  return { fullText: hashTexts([text, ...files]), numberlessText: hashTexts([textWithoutNumbers, ...files]) }
}

function hashTexts(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text)
  return hash.digest('base64url').slice(0, 22)
}
