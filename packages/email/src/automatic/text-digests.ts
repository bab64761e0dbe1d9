// Computes digests of a mail's text, to find mails with the same text.

import { createHash } from 'node:crypto'
import type { ProvenMail } from '../authenticate/proven-mail.ts'

/** Digests of the text of a mail. */
export interface TextDigests {
  readonly fullText: string
  /** The digest of the text without the numbers that a ticket system changes from mail to mail. */
  readonly withoutNumbers: string
}

export function digestText({ body }: ProvenMail): TextDigests {
  const text = body.text.replace(/\s+/g, ' ').trim()
  const files = body.files.map(({ digest }) => digest)
  const textWithoutNumbers = text.replace(/[\p{L}\p{N}-]+/gu, word => (/\d{3}/.test(word) ? '#' : word))
  return { fullText: digestOf([text, ...files]), withoutNumbers: digestOf([textWithoutNumbers, ...files]) }
}

function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text)
  return hash.digest('base64url').slice(0, 22)
}
