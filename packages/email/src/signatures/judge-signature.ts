// Judges a verified DKIM signature by the gateway's own rules, and describes it as a proof.

import type { Proof } from '@postern/message'
import type { DkimError, SignatureReport } from '../dkim/signature-report.ts'

/** The verdict on one signature. Only `pass` proves anything. */
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
  /** The transport may have damaged a valid signature. */
  | 'unverifiable'

/** A DKIM signature, judged by the gateway's rules. */
export interface JudgedSignature extends SignatureReport {
  readonly verdict: SignatureVerdict
}

/** The number of seconds by which the clock of a signer may be ahead. */
const maxClockSkewSeconds = 600

export interface JudgeOptions {
  /** The time of the check, ms since the epoch. */
  readonly now: number
  /** The minimum number of bits of an RSA key. Shorter keys prove nothing. */
  readonly minKeyBits: number
  /** True if the transport may have changed the body, so that its hash differs. */
  readonly isDamaged: boolean
}

/** Adds the verdict to the report of a signature. */
export function classifySignature(report: SignatureReport, options: JudgeOptions): JudgedSignature {
  const mayBeDamaged = report.error === 'body hash did not verify' && options.isDamaged
  return { ...report, verdict: mayBeDamaged ? 'unverifiable' : verdictOf(report, options) }
}

const errorVerdicts: Readonly<Record<DkimError, SignatureVerdict>> = {
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

/** Returns the verdict. A valid signature may still prove nothing about the whole message now. */
function verdictOf(
  { error, uncoveredOctets, isTesting, signedAt, bits, covers }: SignatureReport,
  { now, minKeyBits }: JudgeOptions,
): SignatureVerdict {
  if (error) return errorVerdicts[error]
  if (uncoveredOctets > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + maxClockSkewSeconds) return 'not_yet'
  if (bits !== undefined && bits < minKeyBits) return 'weak'
  return covers.includes('from') ? 'pass' : 'not_from'
}

const wireVerdicts: Readonly<Record<SignatureVerdict, Proof['verdict']>> = {
  pass: 'pass',
  fail: 'fail',
  weak: 'policy',
  undersized: 'policy',
  testing: 'policy',
  not_yet: 'policy',
  not_from: 'neutral',
  expired: 'neutral',
  malformed: 'neutral',
  no_key: 'permerror',
  dns_trouble: 'temperror',
  unverifiable: 'unverifiable',
}

/** Returns the name of the key of a signature, `d=<domain>/s=<selector>`. */
export function formatKeyId({ domain, selector }: Pick<JudgedSignature, 'domain' | 'selector'>): string {
  return `d=${domain}/s=${selector}`
}

/** Describes a judged signature as a proof. */
export function proofOfSignature(signature: JudgedSignature, isAligned: boolean): Proof {
  const { verdict, error, dnsCode, domain, algorithm, bits, covers, id } = signature
  const reason = [verdict, error, dnsCode].filter(Boolean).join(': ')
  return {
    kind: 'dkim',
    verdict: wireVerdicts[verdict],
    reason: verdict === 'pass' ? undefined : reason,
    key_id: formatKeyId(signature),
    domain,
    aligned: isAligned,
    algorithm,
    bits,
    covers,
    signature_id: id,
  }
}
