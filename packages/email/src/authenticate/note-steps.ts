import type { IntakeSteps, Proof, UsedKey } from '@postern/core'
import { toProofKey } from '@postern/core'
import type { TxtAnswer } from '../dkim/report.ts'

/** When the checks of a mail began and ended, of `steps.now()`; several run at a time. */
export interface MailTimes {
  /** DNS was asked for keys and SPF. */
  readonly asked: number
  /** Names of keys that were remembered. */
  readonly known: ReadonlySet<string>
  spf?: number
  /** The mail was read, and its signatures computed. */
  read?: number
}

interface NotedMail {
  readonly keys: Readonly<Record<string, TxtAnswer>>
  readonly times: MailTimes
}

/** Notes each proof of a mail with the time that it took, and the keys from DNS. */
export function noteAuthentication(
  steps: IntakeSteps,
  proofs: readonly Proof[],
  { keys, times: { asked, known, spf = asked, read = asked } }: NotedMail,
): void {
  const judged = steps.now()
  const spans: Readonly<Record<string, readonly [since: number, until: number]>> = {
    dkim: [asked, read],
    arc: [asked, read],
    spf: [asked, spf],
    dmarc: [read, judged],
  }
  for (const proof of proofs) {
    const [since, until] = spans[proof.kind] ?? [read, judged]
    steps.note(proof, since, findKey(proof, keys, known), until)
  }
}

/** The record of the key as DNS has it; `key_id` names where. */
function findKey(
  { key_id }: Proof,
  keys: Readonly<Record<string, TxtAnswer>>,
  known: ReadonlySet<string>,
): UsedKey | undefined {
  const [, domain, selector] = /^d=(.*)\/s=(.*)$/.exec(key_id ?? '') ?? []
  const name = `${selector}._domainkey.${domain}`
  const answer = domain === undefined ? undefined : keys[name]
  if (!answer) return undefined
  const from = known.has(name) ? 'cache' : 'dns'
  const [record] = 'records' in answer ? answer.records : []
  return { from, ...(record && { key: toProofKey('dkim', record.join('')) }) }
}
