// Checks identity evidence against the operator's policy and its time limits, before any key is fetched.
import type { KeyObject } from 'node:crypto'
import type { IdentityEvidence } from '@postern/message'
import { hasSubjectPrefix } from '@postern/message'
import type { EvidenceCode, RejectedEvidence } from '@postern/pipeline'
import type { TrustedIssuer } from '../config.ts'
import { EvidenceError, evidenceLifetimes } from '../format/members.ts'

/** The content of evidence before its issuer is proven. */
interface Assertion {
  readonly issuer: string
  readonly method: string
  readonly assurance: string
  readonly subject: string
  /** The parties that the subject acts for. */
  readonly principals: readonly string[]
}

/** The assurance of delegation, which an operator has to grant by name (MN-8.4). */
const delegatedAssurance = 'delegated'

interface TrustCheck {
  readonly code: EvidenceCode
  readonly reason: string
  admits(entry: TrustedIssuer, assertion: Assertion): boolean
}

const trustChecks: readonly TrustCheck[] = [
  {
    code: 'untrusted-issuer',
    reason: 'its issuer is not trusted',
    admits: (entry, { issuer }) => entry.issuer === issuer,
  },
  {
    code: 'untrusted-method',
    reason: 'its issuer is not trusted for this method',
    admits: (entry, { method }) => entry.methods.includes(method),
  },
  {
    code: 'untrusted-assurance',
    reason: 'its issuer is not trusted for this assurance',
    admits: (entry, { assurance }) => entry.assurance.includes(assurance),
  },
  {
    code: 'untrusted-subject',
    reason: 'its issuer is not trusted for this subject',
    admits: ({ subject_prefixes }, { subject }) => hasAllowedPrefix(subject, subject_prefixes),
  },
  {
    code: 'untrusted-delegation',
    reason: 'its issuer is not trusted for delegation',
    admits: ({ subject_prefixes }, { assurance, principals }) =>
      principals.length === 0 ||
      (assurance === delegatedAssurance &&
        principals.every(principal => hasAllowedPrefix(principal, subject_prefixes))),
  },
]

/**
 * Checks that one entry of the operator's policy admits the whole assertion (MN-6.3, step 2). The check precedes any fetch, so that
 * untrusted issuers cause none.
 * @throws EvidenceError naming the first mismatch of the closest entry
 */
export function checkTrust(assertion: Assertion, policy: readonly TrustedIssuer[]): void {
  let entries = policy
  for (const { code, reason: problem, admits } of trustChecks) {
    entries = entries.filter(entry => admits(entry, assertion))
    if (entries.length === 0) throw new EvidenceError(code, problem)
  }
}

function hasAllowedPrefix(subject: string, prefixes: readonly string[]): boolean {
  return prefixes.some(prefix => hasSubjectPrefix(subject, prefix))
}

/** Well-formed evidence that is not proven yet, in the same form for both versions. */
export interface UnverifiedEvidence {
  readonly assertion: Assertion
  /** The addressed agents that the evidence is for. */
  readonly audiences: readonly string[]
  /** The message that the evidence is for. Undefined if the evidence is for any message. */
  readonly messageId: string | undefined
  readonly validity: ValidityWindow
  readonly keyId: string
  readonly algorithm: string
  /** The URL at which the issuer publishes its keys. */
  readonly keysUrl: string
  /**
   * Finds the key `keyId` in the document at `keysUrl`, or returns undefined if the key is absent.
   * @throws EvidenceError
   */
  findKey(document: unknown, now: number): KeyObject | undefined
  isSignedWith(key: KeyObject): boolean
  /** The key of repeated evidence, which does not depend on the signature. */
  readonly replayKey: string
  /** Renders the evidence for the agent, without anything that could be used again. */
  render(): IdentityEvidence
}

/** A version of identity evidence: the member of a message that carries it, and its reader. */
export interface EvidenceFormat {
  readonly kind: RejectedEvidence['kind']
  readonly carrier: 'identity_evidence' | 'verifiable_credentials'
  /**
   * Reads one entry of a carrier. `audience` is the addressed agent.
   * @throws EvidenceError
   */
  read(entry: Readonly<Record<string, unknown>>, context: { readonly audience: string }): UnverifiedEvidence
}

/** The period in which evidence is valid, in ms. */
interface ValidityWindow {
  readonly issuedAt: number
  /** The start of the validity, if it is later than the issue. */
  readonly notBefore: number
  readonly expiresAt: number
  /** The end of the validity of the proof, if it is earlier. */
  readonly endsAt: number
}

/**
 * Checks that the evidence is valid now, and for ten minutes at most. Clocks may differ by a minute.
 * @throws EvidenceError
 */
export function checkWindow({ issuedAt, notBefore, expiresAt, endsAt }: ValidityWindow, now: number): void {
  if (expiresAt <= issuedAt) throw new EvidenceError('malformed', 'it ends before it begins')
  if (expiresAt - issuedAt > evidenceLifetimes.maxMs)
    throw new EvidenceError('ttl-exceeded', 'it lives longer than 10 minutes')
  if (Math.max(issuedAt, notBefore) > now + evidenceLifetimes.skewMs)
    throw new EvidenceError('not-yet-valid', 'it is not valid yet')
  if (Math.min(expiresAt, endsAt) + evidenceLifetimes.skewMs <= now)
    throw new EvidenceError('expired', 'it has expired')
}
