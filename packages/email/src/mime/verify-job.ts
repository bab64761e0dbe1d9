// Corrects line ends, scans the header and verifies the signatures of a message.

import type { ChainReport } from '../arc/chain.ts'
import type { SignatureReport } from '../dkim/report.ts'
import { verifySignatures } from '../dkim/verify.ts'
import { toBuffer, withoutRanges } from '../mail/buffers.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { scanHeaders } from '../mail/header.ts'
import { toCrlf } from '../mail/line-ends.ts'
import type { MimeJob, ReadingDeps } from './job.ts'

/**
 * Returns the message of a job with CRLF line ends, without the ignored fields, and with its signatures and limits.
 * `scannedHeader` is the header of the original octets, if it is known.
 */
export function verifyJob(job: MimeJob, { limits, readKey }: ReadingDeps, scannedHeader?: HeaderBlock) {
  // The limits hold for the original octets, which CRLF for LF makes longer.
  const widerLimits = { ...limits, header_bytes: limits.header_bytes * 2, field_bytes: limits.field_bytes * 2 }
  const originalOctets = toBuffer(job.octets)
  const octets = toCrlf(withoutRanges(originalOctets, job.ignoredRanges))
  const header = octets === originalOctets && scannedHeader ? scannedHeader : scanHeaders(octets, widerLimits)
  const signatures = job.signatures ?? verifySignatures({ octets, header }, { ...job, readKey })
  return { octets, header, signatures, limits: widerLimits }
}

/**
 * Returns true if the body is proven and its structure is not. Without a valid signature nothing promises that all of the body
 * is visible.
 */
export function hasLooseStructure(
  { isLoose, isVouched }: MimeJob,
  { signatures, chain }: { readonly signatures: readonly SignatureReport[]; readonly chain?: ChainReport | undefined },
): boolean {
  const hasProof = chain?.result === 'pass' || signatures.some(({ fault }) => fault === undefined)
  return isLoose === true && (isVouched === true || hasProof)
}
