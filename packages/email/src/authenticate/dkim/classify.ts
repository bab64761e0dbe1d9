import type { DkimFault } from '../../dkim/faults.ts'
import type { SignatureReport } from '../../dkim/report.ts'

/** How one signature came out. Only `pass` proves anything. */
export type SignatureVerdict =
  | 'pass'
  | 'fail'
  | 'weak'
  | 'expired'
  | 'not_yet'
  | 'undersized'
  | 'testing'
  | 'malformed'
  | 'no_key'
  | 'dns_trouble'
  | 'not_from'
  /** The way to us may have damaged what was good. */
  | 'unverifiable'

/** One DKIM signature, judged by our rules. */
export interface JudgedSignature extends SignatureReport {
  readonly verdict: SignatureVerdict
}

/** Seconds a signer's clock may be ahead. */
const clockSkew = 600

interface SignatureJudging {
  /** ms */
  readonly now: number
  /** Shorter RSA keys prove nothing. */
  readonly minKeyBits: number
  /** The body may not be what was signed, through no fault of its author. */
  readonly isDamaged: boolean
}

/** Our own verdict on a signature that was computed. */
export function classifySignature(report: SignatureReport, judging: SignatureJudging): JudgedSignature {
  const isUnsure = report.fault === 'body hash did not verify' && judging.isDamaged
  return { ...report, verdict: isUnsure ? 'unverifiable' : verdictOf(report, judging) }
}

const faultVerdicts: Readonly<Record<DkimFault, SignatureVerdict>> = {
  'signature syntax error': 'malformed',
  'signature missing required tag': 'malformed',
  'incompatible version': 'malformed',
  'unknown algorithm': 'malformed',
  'unknown canonicalization': 'malformed',
  'unsupported query method': 'malformed',
  'domain mismatch': 'malformed',
  'inappropriate key algorithm': 'malformed',
  'invalid expiration': 'expired',
  expired: 'expired',
  'From field not signed': 'not_from',
  'weak-algorithm': 'weak',
  'weak-key': 'weak',
  'no key': 'no_key',
  'invalid public key': 'no_key',
  'unknown key version': 'no_key',
  'unknown key type': 'no_key',
  'key not for email': 'no_key',
  'inappropriate hash algorithm': 'no_key',
  'DNS failure': 'dns_trouble',
  'body hash did not verify': 'fail',
  'bad signature': 'fail',
}

/** A valid signature may still prove nothing about the whole message now. */
function verdictOf(
  { fault, uncovered, isTesting, signedAt, bits, covers }: SignatureReport,
  { now, minKeyBits }: SignatureJudging,
): SignatureVerdict {
  if (fault) return faultVerdicts[fault]
  if (uncovered > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + clockSkew) return 'not_yet'
  if (bits !== undefined && bits < minKeyBits) return 'weak'
  return covers.includes('from') ? 'pass' : 'not_from'
}
