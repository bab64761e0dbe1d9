import type { Bounce } from '@postern/core'
import { findField, toBuffer } from '../header-scan.ts'
import type { ProvenMail } from '../mail.ts'
import type { AddressToken, AddressTokens } from '../tokens/address-tokens.ts'
import type { DeliveryStatus } from './delivery-status.ts'
import { readDeliveryStatus } from './delivery-status.ts'
import { findReportPart, parseFieldGroups, readBeginning } from './report-part.ts'

/** What a mail says about one that we sent. */
export interface MailReport {
  readonly effects: readonly Bounce[]
  readonly flags: readonly string[]
}

const nothing: MailReport = { effects: [], flags: [] }

/** A mailbox that was full, or a host that was down for days, is tried this much later, so often in all. */
const softRetry = { waitMs: 4 * 3_600_000, attempts: 3 }

/**
 * Faults of the address itself, by RFC 3463: nobody there, nobody there any more, no such host. What a server refuses for its content, its size or
 * its policy is over for this mail, and says nothing about the next.
 */
const deadAddress = /^5\.(?:0\.0|1\.(?:0|1|2|3|6|10)|2\.1|4\.4)$/

/**
 * Bounces and complaints. A bounce counts only when it came to the one address that was made for the delivery it is about, by the null sender or
 * as a report; a complaint only when it quotes that address. Anything else is kept and changes nothing: a DSN is easily forged.
 */
export function readMailReport(
  mail: ProvenMail,
  agent: string,
  tokens: AddressTokens,
  token?: AddressToken,
): MailReport {
  const isReport = /^multipart\/report\b/i.test(findField(mail.header, 'content-type') ?? '')
  const complaint = isReport ? readComplaint(mail, agent, tokens) : undefined
  if (complaint) return complaint
  if (token?.kind !== 'bounce' || !(isReport || mail.raw.envelope.from === '')) return nothing
  const octets = toBuffer(mail.raw.octets)
  const status = readDeliveryStatus(octets, mail.header)
  return status ? judgeStatus(status, token.delivery, Date.parse(mail.raw.receivedAt)) : nothing
}

function judgeStatus({ action, status }: DeliveryStatus, delivery: string, receivedAt: number): MailReport {
  if (action === 'delayed') return { effects: [], flags: ['delivery_delayed'] }
  if (action !== 'failed') return { effects: [], flags: ['delivery_confirmed'] }
  const bounce = { kind: 'bounced', delivery, error: `bounced: ${status}` } as const
  if (status.startsWith('4')) {
    const retry = { at: receivedAt + softRetry.waitMs, attempts: softRetry.attempts }
    return { effects: [{ ...bounce, retry }], flags: ['bounce_soft'] }
  }
  const isDead = deadAddress.test(status)
  return { effects: [{ ...bounce, ...(isDead && { suppresses: true }) }], flags: ['bounce_hard'] }
}

/** RFC 5965. "Not spam" is praise; whatever else there is means: no more of this. */
function readComplaint(mail: ProvenMail, agent: string, tokens: AddressTokens): MailReport | undefined {
  const octets = toBuffer(mail.raw.octets)
  const report = findReportPart(octets, mail.header, /^feedback-report$/i)
  if (report === undefined) return undefined
  const type = parseFieldGroups(report)[0]?.get('feedback-type')?.toLowerCase()
  const token = tokens.findBounce(agent, readBeginning(octets, mail.header))
  if (!token || type === 'not-spam') return { effects: [], flags: ['feedback_report'] }
  const error = `complained of: ${/^[\w-]{1,30}$/.exec(type ?? '')?.[0] ?? 'abuse'}`
  const effect = { kind: 'bounced', delivery: token.delivery, error, isDelivered: true, suppresses: true } as const
  return { effects: [effect], flags: ['feedback_report'] }
}
