import type { EvidenceCode } from '@postern/core'
import { hasSubjectPrefix } from '@postern/core'
import type { TrustedIssuer } from '../config.ts'
import { EvidenceFault } from '../format/fault.ts'

/** The content of evidence before its issuer is proven. */
export interface Assertion {
  readonly issuer: string
  readonly method: string
  readonly assurance: string
  readonly subject: string
  /** The parties that the subject acts for. */
  readonly principals: readonly string[]
}

/** Delegation has an assurance of its own, which an operator has to grant by name (MN-8.4). */
const delegated = 'delegated'

interface Step {
  readonly code: EvidenceCode
  readonly problem: string
  admits(entry: TrustedIssuer, assertion: Assertion): boolean
}

const steps: readonly Step[] = [
  {
    code: 'untrusted-issuer',
    problem: 'its issuer is not trusted',
    admits: (entry, { issuer }) => entry.issuer === issuer,
  },
  {
    code: 'untrusted-method',
    problem: 'its issuer is not trusted for this method',
    admits: (entry, { method }) => entry.methods.includes(method),
  },
  {
    code: 'untrusted-assurance',
    problem: 'its issuer is not trusted for this assurance',
    admits: (entry, { assurance }) => entry.assurance.includes(assurance),
  },
  {
    code: 'untrusted-subject',
    problem: 'its issuer is not trusted to speak of this subject',
    admits: ({ subject_prefixes }, { subject }) => isUnderOne(subject, subject_prefixes),
  },
  {
    code: 'untrusted-delegation',
    problem: 'its issuer is not trusted to say for whom somebody acts',
    admits: ({ subject_prefixes }, { assurance, principals }) =>
      principals.length === 0 ||
      (assurance === delegated && principals.every(principal => isUnderOne(principal, subject_prefixes))),
  },
]

/**
 * Whether one entry of the operator's policy admits all of it (MN-6.3, step 2). This comes before any fetch, so that untrusted issuers
 * cause none. @throws EvidenceFault naming the best entry's first mismatch
 */
export function checkTrust(assertion: Assertion, policy: readonly TrustedIssuer[]): void {
  let entries = policy
  for (const { code, problem, admits } of steps) {
    entries = entries.filter(entry => admits(entry, assertion))
    if (entries.length === 0) throw new EvidenceFault(code, problem)
  }
}

function isUnderOne(subject: string, prefixes: readonly string[]): boolean {
  return prefixes.some(prefix => hasSubjectPrefix(subject, prefix))
}
