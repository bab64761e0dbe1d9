import type { EvidenceClaim, EvidenceCode, LeftOutEvidence, OnceStore, Proof } from '@postern/core'
import { createOneByOne, isJsonObject } from '@postern/core'
import { carrierLimits, EvidenceFault, lifetime } from '../format/members.ts'
import type { ReadEvidence } from './trust.ts'

type Use = Pick<EvidenceClaim, 'sender' | 'messageId'>

/**
 * Uses evidence up, as the last check, so that only valid evidence is. False when another message used it before. A sender who repeats a
 * message gets the first answer, and must count as the same sender for that.
 */
export type UseEvidence = (evidence: ReadEvidence, use: Use) => Promise<boolean>

/** In the store, for all processes and over restarts, to the end of each piece of evidence. */
export function createEvidenceUses(store: OnceStore): UseEvidence {
  async function take({ replayKey, window }: ReadEvidence, { sender, messageId }: Use): Promise<boolean> {
    const key = `identity ${replayKey}`
    const until = window.expiresAt + lifetime.skew
    const own = sender === undefined ? undefined : `${key} ${JSON.stringify([sender, messageId])}`
    if (await store.consumeOnce(key, until)) {
      if (own !== undefined) await store.consumeOnce(own, until)
      return true
    }
    // A key whose end is in the past is only queried, so that an attempt with another's evidence leaves no trace.
    return own !== undefined && !(await store.consumeOnce(own, 0))
  }

  const oneByOne = createOneByOne()
  // For concurrent copies of one message, the second waits until the owner of the first is known.
  return (evidence, use) => oneByOne(evidence.replayKey, () => take(evidence, use))
}

/** An entry of a carrier, or why it is invalid. */
export type CarriedEntry = Readonly<Record<string, unknown>> | EvidenceFault

/**
 * The entries of one carrier. Beyond its limits all of it is invalid, because a selection would depend on who selects. Sizes are those of
 * the values' JSON. @throws EvidenceFault
 */
export function readCarrier(carrier: unknown): readonly CarriedEntry[] {
  if (!Array.isArray(carrier)) throw new EvidenceFault('malformed', 'the carrier is not an array')
  const { entries, carrierBytes, entryBytes } = carrierLimits
  if (carrier.length > entries) throw new EvidenceFault('too-many', `the carrier holds more than ${entries}`)
  const sizes = carrier.map(entry => Buffer.byteLength(JSON.stringify(entry) ?? ''))
  if (sizes.reduce((sum, size) => sum + size, 0) > carrierBytes) {
    throw new EvidenceFault('too-large', `the carrier holds more than ${carrierBytes / 1024} KiB`)
  }
  return carrier.map((entry: unknown, at) => {
    if ((sizes[at] ?? 0) > entryBytes)
      return new EvidenceFault('too-large', `it is larger than ${entryBytes / 1024} KiB`)
    return isJsonObject(entry) ? entry : new EvidenceFault('malformed', 'it is not an object')
  })
}

type Kind = LeftOutEvidence['kind']

/** What the operator sees of valid evidence. */
export function describeAccepted(kind: Kind, { assertion, keyId, algorithm }: ReadEvidence): Proof {
  const { issuer, subject, method, assurance } = assertion
  return { kind, verdict: 'pass', issuer, subject, method, assurance, key_id: keyId, algorithm }
}

function judge(code: EvidenceCode): Proof['verdict'] {
  if (code === 'key-unavailable') return 'temperror'
  return code.startsWith('untrusted-') ? 'policy' : 'fail'
}

/** What the operator sees of invalid evidence. Its content is only a claim, without signatures and other values. */
export function describeLeftOut(kind: Kind, { code, message: reason }: EvidenceFault, claimed?: ReadEvidence): Proof {
  const { issuer, subject, method } = claimed?.assertion ?? {}
  return {
    kind,
    verdict: judge(code),
    reason,
    code,
    ...(claimed && { issuer, subject, method, key_id: claimed.keyId }),
  }
}
