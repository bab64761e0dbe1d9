import { isAscii } from 'node:buffer'
import type { HeaderBlock } from '../../mail/header-scan.ts'
import { findField, toBuffer } from '../../mail/header-scan.ts'
import type { RawMail } from '../../mail/raw.ts'

const replacement = Buffer.from('\ufffd')

/**
 * Whether octets may have changed between the author's server and this one. That needs a path that is known to lose
 * some, and something to lose: octets beyond ASCII, or the mark of lost ones.
 */
export function mayBeDamaged({ raw, header }: { readonly raw: RawMail; readonly header: HeaderBlock }): boolean {
  if (!raw.envelope.source?.isLossy) return false
  const body = toBuffer(raw.octets).subarray(header.bodyStart)
  const isDeclared = /^\s*(8bit|binary)\b/i.test(findField(header, 'content-transfer-encoding') ?? '')
  return isDeclared || !isAscii(body) || body.includes(replacement)
}
