import type { MailAddresses } from '../addresses/mail-addresses.ts'
import type { Coverage } from '../authenticate/signatures/coverage.ts'
import { keepCovered } from '../authenticate/signatures/coverage.ts'
import type { HeaderBlock } from '../mail/header-scan.ts'
import { fieldValues, findField } from '../mail/header-scan.ts'
import type { UnprovenMail } from '../mail/unproven.ts'

/**
 * The header fields that nobody can have added or changed under the proof of the author; all of it where the author is
 * not proven.
 */
interface CoveredMail {
  readonly covered: HeaderBlock
  /** The people whom the mail names there. */
  readonly named: Pick<MailAddresses, 'to' | 'cc'>
  /** `unsigned_to` and the like: fields that are there and are not covered. */
  readonly flags: readonly string[]
}

/** Fields that say where a mail belongs, what it is about and how it is read. */
const coverable = [
  ...['to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding'],
]

/** A signed mail stays signed when a field is added that the signature does not name: such fields must decide nothing. */
export function readCovered({ header, addresses: { to, cc } }: UnprovenMail, coverage: Coverage): CoveredMail {
  const covered = keepCovered(header, coverage)
  const has = (name: string) => findField(covered, name) !== undefined
  const uncovered = coverable.filter(name => fieldValues(covered, name).length < fieldValues(header, name).length)
  return {
    covered,
    named: { to: has('to') ? to : [], cc: has('cc') ? cc : [] },
    flags: uncovered.map(name => `unsigned_${name.replaceAll('-', '_')}`),
  }
}

const dayMs = 24 * 3_600_000
/** As long as a server tries to forward a mail (RFC 5321 §4.5.4.1), and the possible error of the author's clock. */
const [oldestMs, aheadMs] = [5 * dayMs, 3_600_000]

/** Whether it was written just now, by a `Date` that is covered. `now` in ms. */
export function isRecent({ covered }: Pick<CoveredMail, 'covered'>, now: number): boolean {
  const age = now - Date.parse(findField(covered, 'date') ?? '')
  return age < oldestMs && age > -aheadMs
}
