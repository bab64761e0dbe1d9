import type { SignatureReport } from '../signatures/reports.ts'

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

/** Our own verdict on what the library reports. */
export function classifySignature(report: SignatureReport, judging: SignatureJudging): JudgedSignature {
  const isBodyHash = report.result === 'fail' && /body hash/i.test(report.comment)
  return { ...report, verdict: isBodyHash && judging.isDamaged ? 'unverifiable' : verdictOf(report, judging) }
}

const neutralVerdicts: Readonly<Record<string, SignatureVerdict>> = {
  expired: 'expired',
  'invalid expiration': 'expired',
  'no key': 'no_key',
  'invalid public key': 'no_key',
  'unknown key version': 'no_key',
  'unknown key type': 'no_key',
  'key not for email': 'no_key',
  'inappropriate hash algorithm': 'no_key',
  'From field not signed': 'not_from',
}

const otherVerdicts: Readonly<Record<string, SignatureVerdict>> = {
  fail: 'fail',
  policy: 'weak',
  temperror: 'dns_trouble',
}

function verdictOf(report: SignatureReport, judging: SignatureJudging): SignatureVerdict {
  if (report.result === 'pass') return passVerdict(report, judging)
  return otherVerdicts[report.result] ?? neutralVerdicts[report.comment] ?? 'malformed'
}

/** A valid signature may still prove nothing about the whole message now. */
function passVerdict(
  { uncovered, isTesting, signedAt, covers, algorithm, bits }: SignatureReport,
  { now, minKeyBits }: SignatureJudging,
): SignatureVerdict {
  if (uncovered > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + clockSkew) return 'not_yet'
  if (algorithm.startsWith('rsa') && bits !== undefined && bits < minKeyBits) return 'weak'
  return covers.includes('from') ? 'pass' : 'not_from'
}
