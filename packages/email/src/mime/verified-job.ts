import type { ChainReport } from '../authenticate/arc/report.ts'
import type { MailLimits } from '../config/limits.ts'
import type { createKeyReader } from '../dkim/key-record.ts'
import type { SignatureReport } from '../dkim/report.ts'
import { verifySignatures } from '../dkim/verify.ts'
import type { HeaderBlock } from '../mail/header-scan.ts'
import { scanHeaders, toBuffer, withoutRanges } from '../mail/header-scan.ts'
import { toCrlf } from '../mail/line-ends.ts'
import type { MimeJob } from './job.ts'

export interface ReadingDeps {
  readonly limits: MailLimits
  readonly readKey: ReturnType<typeof createKeyReader>
}

/** The message of a job with CRLF line ends, and its signatures. */
interface VerifiedJob {
  readonly octets: Buffer
  readonly header: HeaderBlock
  readonly signatures: readonly SignatureReport[]
  /** For its octets. */
  readonly limits: MailLimits
}

/**
 * Leaves out what is not judged, and verifies the signatures of the rest, unless that was done. `scanned` is the header
 * of the octets that came, where it is known.
 */
export function verifyJob(job: MimeJob, { limits, readKey }: ReadingDeps, scanned?: HeaderBlock): VerifiedJob {
  // The limits hold on the octets that came; CRLF for LF makes them longer.
  const widened = { ...limits, header_bytes: limits.header_bytes * 2, field_bytes: limits.field_bytes * 2 }
  const whole = toBuffer(job.octets)
  const octets = toCrlf(withoutRanges(whole, job.ignored))
  const header = octets === whole && scanned ? scanned : scanHeaders(octets, widened)
  const signatures = job.signatures ?? verifySignatures({ octets, header }, { ...job, readKey })
  return { octets, header, signatures, limits: widened }
}

/**
 * Whether the body is proven and its structure is not. Without a valid signature nothing promises that all of the body
 * is visible.
 */
export function hasLooseStructure(
  { isLoose, isVouched }: MimeJob,
  { signatures, chain }: { readonly signatures: readonly SignatureReport[]; readonly chain?: ChainReport | undefined },
): boolean {
  const hasProof = chain?.result === 'pass' || signatures.some(({ fault }) => fault === undefined)
  return isLoose === true && (isVouched === true || hasProof)
}
