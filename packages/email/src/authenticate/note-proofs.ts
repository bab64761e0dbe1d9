// Notes the proofs of a mail with their times and keys, for the operator.
import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'
import { toProofKey } from '@postern/pipeline'
import type { TxtAnswer } from '../dkim/report.ts'

/** The times of the checks of a mail, by `steps.now()`. Several checks run at a time. */
export interface MailTimes {
  /** The time when DNS was asked for keys and SPF. */
  readonly startedAt: number
  /** The names of the keys that the cache had. */
  readonly cachedNames: ReadonlySet<string>
  spfAt?: number
  /** The time when the mail was read and its signatures were computed. */
  readAt?: number
}

/** Notes each proof of a mail with the time that it took, and the keys from DNS. */
export function noteAuthentication(
  steps: IntakeSteps,
  proofs: readonly Proof[],
  keys: Readonly<Record<string, TxtAnswer>>,
  { startedAt, cachedNames, spfAt = startedAt, readAt = startedAt }: MailTimes,
): void {
  const judgedAt = steps.now()
  const spans: Readonly<Record<string, readonly [since: number, until: number]>> = {
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
