// Records the proofs of a mail with their times and keys, for the operator.
import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'
import { toProofKey } from '@postern/pipeline'
import type { TxtAnswer } from '../dkim/signature-report.ts'

/** The times of the checks of one mail, as `steps.now()` gives them. The checks overlap. */
export interface CheckTimes {
  /** The time of the DNS queries for keys and SPF. */
  readonly startedAt: number
  /** The names of the keys that were in the cache. */
  readonly cachedNames: ReadonlySet<string>
  /** The time when SPF was checked. */
  spfAt?: number
  /** The time when the mail was parsed and its signatures were verified. */
  readAt?: number
}

interface CheckRecords {
  /** The DNS answers for the keys of the signatures. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  readonly times: CheckTimes
}

/** Records each proof of a mail with the time that its check took, and the keys from DNS. */
export function recordProofs(steps: IntakeSteps, proofs: readonly Proof[], { keys, times }: CheckRecords): void {
  const { startedAt, cachedNames, spfAt = startedAt, readAt = startedAt } = times
  const judgedAt = steps.now()
  const spans: Readonly<Record<string, readonly [start: number, end: number]>> = {
    dkim: [startedAt, readAt],
    arc: [startedAt, readAt],
    spf: [startedAt, spfAt],
    dmarc: [readAt, judgedAt],
  }
  for (const proof of proofs) {
    const [spanStart, spanEnd] = spans[proof.kind] ?? [readAt, judgedAt]
    steps.recordCheck(proof, spanStart, findKey(proof, keys, cachedNames), spanEnd)
  }
}

/** Finds the DNS record of the key of a proof by its `key_id`. */
function findKey(
  { key_id }: Proof,
  keys: Readonly<Record<string, TxtAnswer>>,
  cachedNames: ReadonlySet<string>,
): UsedKey | undefined {
  const [, domain, selector] = /^d=(.*)\/s=(.*)$/.exec(key_id ?? '') ?? []
  const name = `${selector}._domainkey.${domain}`
  const answer = domain === undefined ? undefined : keys[name]
  if (!answer) return undefined
  const from = cachedNames.has(name) ? 'cache' : 'dns'
  const [record] = 'records' in answer ? answer.records : []
  return { from, ...(record && { key: toProofKey('dkim', record.join('')) }) }
}
