// Records the checks of one incoming request or mail.

import type { IntakeTrace, KeyOrigin, Proof, ProofKey, System, VerifyStep } from '@postern/message'
import type { RefusalClaims } from '../records/operator/refusal.ts'

/** The maximum number of checks that are recorded. A limit is needed because the sender chooses the number of signatures. */
const maxSteps = 24
const maxKeyIdChars = 512
/** Matches a `traceparent` of W3C Trace Context §3.2.2, version 00. */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The outcome of a check: a `Proof`, or a part of one. */
type CheckedProof = Pick<Proof, 'kind' | 'verdict' | 'key_id'>

/** The key that a check used. */
export interface UsedKey {
  readonly from: KeyOrigin
  /** The public key; absent for a secret one. */
  readonly key?: ProofKey | undefined
}

/** The record of the checks of one request or mail: the duration of each, and the keys that it needed. */
export interface IntakeSteps {
  /** Returns the ms since the request came in, with fractions. */
  now(): number
  /** Records a check that began at `since` and ended at `until` (default: now), both by `now()`. */
  recordCheck(checked: CheckedProof, since: number, used?: UsedKey, until?: number): void
  /** Records the claims of the request that have been read so far, for the list of refusals. None of them is proven. */
  recordClaims(claims: RefusalClaims): void
  claims(): RefusalClaims
  /** Records the trace to which the request belongs according to the caller. It ignores an invalid `traceparent`. */
  recordCaller(traceparent: string | undefined): void
  /** Returns the checks for the record. */
  trace(): Pick<IntakeTrace, 'received_at' | 'steps' | 'caller'>
  keys(): readonly ProofKey[]
}

/** Creates the record when the first bytes arrive. The system clock gives the time of arrival, and the clock of the process gives durations. */
export function createIntakeSteps(system: Pick<System, 'now'>): IntakeSteps {
  const receivedAt = system.now()
  const startedAt = performance.now()
  const steps: VerifyStep[] = []
  const keys = new Map<string, ProofKey>()
  let currentClaims: RefusalClaims = {}
  let caller: string | undefined
  const now = () => performance.now() - startedAt
  return {
    now,
    recordCheck({ kind, verdict, key_id }, since, used, until = now()) {
      if (steps.length >= maxSteps) return
      if (used?.key) keys.set(used.key.digest, used.key)
      steps.push({
        kind,
        verdict,
        key_id: key_id?.slice(0, maxKeyIdChars).toWellFormed(),
        key_from: used?.from,
        key_digest: used?.key?.digest,
        after: roundMs(since),
        ms: roundMs(until - since),
      })
    },
    recordClaims(claims) {
      currentClaims = { ...currentClaims, ...claims }
    },
    claims: () => currentClaims,
    recordCaller(traceparent) {
      if (traceparent !== undefined && traceparentForm.test(traceparent)) caller = traceparent
    },
    trace: () => ({ received_at: receivedAt, steps, ...(caller !== undefined && { caller }) }),
    keys: () => [...keys.values()],
  }
}

/** Rounds to a tenth of a millisecond, because most checks take less than one. */
function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10
}
