// Allows each piece of identity evidence to be used once, and reads the entries that a message carries.
import type { Proof } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { EvidenceClaim, EvidenceCode, RejectedEvidence, SingleUseStore } from '@postern/pipeline'
import { createKeyedQueue } from '@postern/pipeline'
import { carrierLimits, EvidenceError, evidenceLifetimes } from '../format/members.ts'
import type { UnverifiedEvidence } from './trust.ts'

type EvidenceUse = Pick<EvidenceClaim, 'sender' | 'messageId'>

/**
 * Marks evidence as used. This is the last check, so that only valid evidence is used up. Returns false if another message used the evidence before. A
 * sender who repeats a message gets the first answer, so the repetition must count as the same use.
 */
export type UseEvidence = (evidence: UnverifiedEvidence, use: EvidenceUse) => Promise<boolean>

/** Stores the uses in the store, for all processes and across restarts, until each piece of evidence expires. */
export function createEvidenceUses(store: SingleUseStore): UseEvidence {
  async function consume(
    { replayKey, validity }: UnverifiedEvidence,
    { sender, messageId }: EvidenceUse,
  ): Promise<boolean> {
    const key = `identity ${replayKey}`
    const expiresAt = validity.expiresAt + evidenceLifetimes.skewMs
    const repetitionKey = sender === undefined ? undefined : `${key} ${JSON.stringify([sender, messageId])}`
    if (await store.consumeOnce(key, expiresAt)) {
      if (repetitionKey !== undefined) await store.consumeOnce(repetitionKey, expiresAt)
      return true
    }
    // A key whose end is in the past is only queried, so that an attempt with another party's evidence leaves no trace.
    return repetitionKey !== undefined && !(await store.consumeOnce(repetitionKey, 0))
  }

  const runOneByOne = createKeyedQueue()
  // A second copy of a message waits until the first use is decided.
  return (evidence, use) => runOneByOne(evidence.replayKey, () => consume(evidence, use))
}

/** An entry of a carrier, or the reason why it is invalid. */
export type CarriedEntry = Readonly<Record<string, unknown>> | EvidenceError

/**
 * Reads the entries of one carrier. A carrier that exceeds a limit is invalid as a whole, because a selection would depend on the reader. Sizes are
 * those of the values' JSON.
 * @throws EvidenceError
 */
export function readCarrier(carrier: unknown): readonly CarriedEntry[] {
  if (!Array.isArray(carrier)) throw new EvidenceError('malformed', 'the carrier is not an array')
  const { entries, carrierBytes, entryBytes } = carrierLimits
  if (carrier.length > entries) throw new EvidenceError('too-many', `the carrier holds more than ${entries}`)
  const sizes = carrier.map(entry => Buffer.byteLength(JSON.stringify(entry) ?? ''))
  if (sizes.reduce((sum, size) => sum + size, 0) > carrierBytes) {
    throw new EvidenceError('too-large', `the carrier holds more than ${carrierBytes / 1024} KiB`)
  }
  return carrier.map((entry: unknown, index) => {
    if ((sizes[index] ?? 0) > entryBytes)
      return new EvidenceError('too-large', `it is larger than ${entryBytes / 1024} KiB`)
    return isJsonObject(entry) ? entry : new EvidenceError('malformed', 'it is not an object')
  })
}

type EvidenceKind = RejectedEvidence['kind']

/** Describes valid evidence to the operator. */
export function describeAcceptedEvidence(
  kind: EvidenceKind,
  { assertion, keyId, algorithm }: UnverifiedEvidence,
): Proof {
  const { issuer, subject, method, assurance } = assertion
  return { kind, verdict: 'pass', issuer, subject, method, assurance, key_id: keyId, algorithm }
}

function verdictOf(code: EvidenceCode): Proof['verdict'] {
  if (code === 'key-unavailable') return 'temperror'
  return code.startsWith('untrusted-') ? 'policy' : 'fail'
}

/** Describes invalid evidence to the operator. Its content is only a claim, and signatures and other values are left out. */
export function describeRejectedEvidence(
  kind: EvidenceKind,
  { code, message: reason }: EvidenceError,
  unverifiedEvidence?: UnverifiedEvidence,
): Proof {
  const { issuer, subject, method } = unverifiedEvidence?.assertion ?? {}
  return {
    kind,
    verdict: verdictOf(code),
    reason,
    code,
    ...(unverifiedEvidence && { issuer, subject, method, key_id: unverifiedEvidence.keyId }),
  }
}
