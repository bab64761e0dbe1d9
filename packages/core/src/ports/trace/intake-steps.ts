import { hash } from 'node:crypto'
import type { Proof } from '../../message/proof.ts'
import type { Platform } from '../platform/platform.ts'
import type { RefusalClaims } from '../records/records.ts'
import type { IntakeTrace, KeyOrigin, ProofKey, VerifyStep } from './trace.ts'

/** Whoever writes to us decides how many signatures there are to check. */
const maxSteps = 24
const maxKeyId = 512
/** W3C Trace Context §3.2.2, version 00. */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** How a check came out: a `Proof`, or as much of one as there is. */
export type CheckedProof = Pick<Proof, 'kind' | 'verdict' | 'key_id'>

/** With what key it was made. */
export interface UsedKey {
  readonly from: KeyOrigin
  /** The public key; absent for a secret one. */
  readonly key?: ProofKey | undefined
}

/** Notes the checks of one request or mail while they are made: what each took, and the keys it needed. */
export interface IntakeSteps {
  /** ms since it came in, finer than whole ones. */
  now(): number
  /** A check that began at `since` (of `now()`) is over, now or since `until`. */
  note(checked: CheckedProof, since: number, used?: UsedKey, until?: number): void
  /** What it says of itself, as far as it is read: for the list of what was refused. Nothing of it is proven. */
  claim(claims: RefusalClaims): void
  claims(): RefusalClaims
  /** The trace that the caller says this belongs to; what is no `traceparent` is none. */
  calledFrom(traceparent: string | undefined): void
  /** What the record keeps of it. */
  trace(): Pick<IntakeTrace, 'received_at' | 'steps' | 'caller'>
  keys(): readonly ProofKey[]
}

/** To be called when the first bytes are there. The clock of the platform tells when that was, the clock of the process how long things take. */
export function createIntakeSteps(platform: Pick<Platform, 'now'>): IntakeSteps {
  const receivedAt = platform.now()
  const begunAt = performance.now()
  const steps: VerifyStep[] = []
  const keys = new Map<string, ProofKey>()
  let claimed: RefusalClaims = {}
  let caller: string | undefined
  const now = () => performance.now() - begunAt
  return {
    now,
    note({ kind, verdict, key_id }, since, used, until = now()) {
      if (steps.length >= maxSteps) return
      if (used?.key) keys.set(used.key.digest, used.key)
      steps.push({
        kind,
        verdict,
        key_id: key_id?.slice(0, maxKeyId).toWellFormed(),
        key_from: used?.from,
        key_digest: used?.key?.digest,
        after: roundMs(since),
        ms: roundMs(until - since),
      })
    },
    claim(claims) {
      claimed = { ...claimed, ...claims }
    },
    claims: () => claimed,
    calledFrom(traceparent) {
      if (traceparent !== undefined && traceparentForm.test(traceparent)) caller = traceparent
    },
    trace: () => ({ received_at: receivedAt, steps, ...(caller !== undefined && { caller }) }),
    keys: () => [...keys.values()],
  }
}

/** To a tenth: most checks take less than one. */
function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** A public key as the record keeps it. */
export function toProofKey(kind: ProofKey['kind'], material: string, owner?: string): ProofKey {
  return { digest: hash('sha256', material, 'base64url'), kind, material, ...(owner !== undefined && { owner }) }
}
