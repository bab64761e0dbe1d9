// Recognizes mail that another server may have damaged.

import { isAscii } from 'node:buffer'
import { toBuffer } from '../mail/buffers.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import type { RawMail } from '../mail/raw-mail.ts'

const replacementCharacter = Buffer.from('\ufffd')

/**
 * Returns true if octets may have changed between the author's server and this one. That requires a lossy server, and
 * octets beyond ASCII, or the replacement characters of octets that are already lost.
 */
export function mayBeDamaged({ raw, header }: { readonly raw: RawMail; readonly header: HeaderBlock }): boolean {
  if (!raw.envelope.source?.isLossy) return false
  const body = toBuffer(raw.octets).subarray(header.bodyStart)
  const isDeclared = /^\s*(8bit|binary)\b/i.test(findField(header, 'content-transfer-encoding') ?? '')
  return isDeclared || !isAscii(body) || body.includes(replacementCharacter)
}
