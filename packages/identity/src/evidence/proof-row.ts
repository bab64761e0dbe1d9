import type { EvidenceCode, LeftOutEvidence, Proof } from '@postern/core'
import type { EvidenceFault } from '../format/fault.ts'
import type { ReadEvidence } from './read.ts'

type Kind = LeftOutEvidence['kind']

/** What the operator sees of valid evidence. */
export function describeAccepted(kind: Kind, { assertion, keyId, algorithm }: ReadEvidence): Proof {
  const { issuer, subject, method, assurance } = assertion
  return { kind, verdict: 'pass', issuer, subject, method, assurance, key_id: keyId, algorithm }
}

const verdicts: Partial<Readonly<Record<EvidenceCode, Proof['verdict']>>> = {
  'untrusted-issuer': 'policy',
  'untrusted-method': 'policy',
  'untrusted-assurance': 'policy',
  'untrusted-subject': 'policy',
  'untrusted-delegation': 'policy',
  'key-unavailable': 'temperror',
}

/** What the operator sees of invalid evidence. Its content is only a claim, without signatures and other values. */
export function describeLeftOut(kind: Kind, { code, message: reason }: EvidenceFault, claimed?: ReadEvidence): Proof {
  const { issuer, subject, method } = claimed?.assertion ?? {}
  return {
    kind,
    verdict: verdicts[code] ?? 'fail',
    reason,
    code,
    ...(claimed && { issuer, subject, method, key_id: claimed.keyId }),
  }
}
