import type { EvidenceCode, LeftOutEvidence, Proof } from '@postern/core'
import type { EvidenceFault } from '../format/fault.ts'
import type { ReadEvidence } from './read.ts'

type Kind = LeftOutEvidence['kind']

/** What the operator is shown of evidence that counts. */
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

/** And of what does not. As far as it could be read it is only a claim; signatures and other values are not shown. */
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
