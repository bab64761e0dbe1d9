// Prepares the octets of a message and verifies its signatures.

import type { ChainReport } from '../arc/chain.ts'
import type { SignatureReport } from '../dkim/signature-report.ts'
import { verifySignatures } from '../dkim/verify.ts'
import { removeRanges, toBuffer } from '../mail/buffers.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { scanHeaders } from '../mail/header.ts'
import { toCrlf } from '../mail/line-ends.ts'
import type { MimeJob, MimeReadingDeps } from './job.ts'

/**
 * Returns the message of a job with CRLF line ends, without the ignored fields, and with its signatures and limits.
 * `scannedHeader` is the header of the original octets, if it is known.
 */
export function verifyJob(job: MimeJob, { limits, readKey }: MimeReadingDeps, scannedHeader?: HeaderBlock) {
  // The limits apply to the original octets, and converting LF to CRLF makes the message longer.
  const widerLimits = { ...limits, header_bytes: limits.header_bytes * 2, field_bytes: limits.field_bytes * 2 }
  const originalOctets = toBuffer(job.octets)
  const octets = toCrlf(removeRanges(originalOctets, job.ignoredRanges))
  const header = octets === originalOctets && scannedHeader ? scannedHeader : scanHeaders(octets, widerLimits)
  const signatures = job.signatures ?? verifySignatures({ octets, header }, { ...job, readKey })
  return { octets, header, signatures, limits: widerLimits }
}

/**
 * Returns true if the body is proven and its structure is not. An unproven body needs no safe reading, because nobody
 * vouches for its text.
 */
export function hasUnsignedStructure(
  { isStructureUnsigned, isVouched }: MimeJob,
  { signatures, chain }: { readonly signatures: readonly SignatureReport[]; readonly chain?: ChainReport | undefined },
): boolean {
  const hasProof = chain?.result === 'pass' || signatures.some(({ error }) => error === undefined)
  return isStructureUnsigned === true && (isVouched === true || hasProof)
}
