// Lets each piece of identity evidence be used once, and reads the entries that a message carries.
import type { Proof } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { EvidenceClaim, EvidenceCode, OnceStore, RejectedEvidence } from '@postern/pipeline'
import { createOneByOne } from '@postern/pipeline'
import { carrierLimits, EvidenceFault, lifetime } from '../format/members.ts'
import type { UnverifiedEvidence } from './trust.ts'

type EvidenceUse = Pick<EvidenceClaim, 'sender' | 'messageId'>

/**
 * Marks evidence as used. This is the last check, so that only valid evidence is used up. Returns false if another message used it before. A sender
 * who repeats a message gets the first answer, so the repetition must count as the same use.
 */
export type UseEvidence = (evidence: UnverifiedEvidence, use: EvidenceUse) => Promise<boolean>

/** Stores the uses in the store, for all processes and across restarts, until each piece of evidence expires. */
export function createEvidenceUses(store: OnceStore): UseEvidence {
  async function consume(
    { replayKey, window }: UnverifiedEvidence,
    { sender, messageId }: EvidenceUse,
  ): Promise<boolean> {
    const key = `identity ${replayKey}`
    const expiresAt = window.expiresAt + lifetime.skewMs
    const repetitionKey = sender === undefined ? undefined : `${key} ${JSON.stringify([sender, messageId])}`
    if (await store.consumeOnce(key, expiresAt)) {
      if (repetitionKey !== undefined) await store.consumeOnce(repetitionKey, expiresAt)
      return true
    }
    // A key whose end is in the past is only queried, so that an attempt with another party's evidence leaves no trace.
    return repetitionKey !== undefined && !(await store.consumeOnce(repetitionKey, 0))
  }

  const oneByOne = createOneByOne()
  // A second copy of a message waits until the first use is decided.
  return (evidence, use) => oneByOne(evidence.replayKey, () => consume(evidence, use))
}

/** An entry of a carrier, or the reason why it is invalid. */
export type CarriedEntry = Readonly<Record<string, unknown>> | EvidenceFault

/**
 * Reads the entries of one carrier. If it exceeds a limit, the whole carrier is invalid, because a selection would depend on the reader. Sizes are
 * those of the values' JSON. @throws EvidenceFault
 */
export function readCarrier(carrier: unknown): readonly CarriedEntry[] {
  if (!Array.isArray(carrier)) throw new EvidenceFault('malformed', 'the carrier is not an array')
  const { entries, carrierBytes, entryBytes } = carrierLimits
  if (carrier.length > entries) throw new EvidenceFault('too-many', `the carrier holds more than ${entries}`)
  const sizes = carrier.map(entry => Buffer.byteLength(JSON.stringify(entry) ?? ''))
  if (sizes.reduce((sum, size) => sum + size, 0) > carrierBytes) {
    throw new EvidenceFault('too-large', `the carrier holds more than ${carrierBytes / 1024} KiB`)
  }
  return carrier.map((entry: unknown, index) => {
    if ((sizes[index] ?? 0) > entryBytes)
      return new EvidenceFault('too-large', `it is larger than ${entryBytes / 1024} KiB`)
    return isJsonObject(entry) ? entry : new EvidenceFault('malformed', 'it is not an object')
  })
}

type Kind = RejectedEvidence['kind']

/** Describes valid evidence to the operator. */
export function describeAccepted(kind: Kind, { assertion, keyId, algorithm }: UnverifiedEvidence): Proof {
  const { issuer, subject, method, assurance } = assertion
  return { kind, verdict: 'pass', issuer, subject, method, assurance, key_id: keyId, algorithm }
}

function verdictOf(code: EvidenceCode): Proof['verdict'] {
  if (code === 'key-unavailable') return 'temperror'
  return code.startsWith('untrusted-') ? 'policy' : 'fail'
}

/** Describes invalid evidence to the operator. Its content is only a claim, and signatures and other values are left out. */
export function describeRejected(
  kind: Kind,
  { code, message: reason }: EvidenceFault,
  unverified?: UnverifiedEvidence,
): Proof {
  const { issuer, subject, method } = unverified?.assertion ?? {}
  return {
    kind,
    verdict: verdictOf(code),
    reason,
    code,
    ...(unverified && { issuer, subject, method, key_id: unverified.keyId }),
  }
}
