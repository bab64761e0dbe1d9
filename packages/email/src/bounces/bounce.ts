import type { Bounce } from '@postern/core'
import type { HeaderBlock } from '../mail/header-scan.ts'
import { findField, toBuffer } from '../mail/header-scan.ts'
import type { ProvenMail } from '../proven/mail.ts'
import type { AddressToken, AddressTokens } from '../tokens/address-tokens.ts'
import { quoteBounceAddresses } from '../tokens/address-tokens.ts'
import { isDeadAddress } from './dead-address.ts'
import type { DeliveryStatus } from './delivery-status.ts'
import { readDeliveryStatus } from './delivery-status.ts'
import { findReportPart, parseFieldGroups, readBeginning } from './report-part.ts'

/** What a mail says about one that we sent. */
interface MailReport {
  readonly effects: readonly Bounce[]
  readonly flags: readonly string[]
}

/** For whom a report is, and to which address it came. */
interface ReportJudging {
  readonly agent: string
  readonly tokens: AddressTokens
  readonly token: AddressToken | undefined
  /** ISO 8601 UTC. */
  readonly receivedAt: string
}

const nothing: MailReport = { effects: [], flags: [] }

/** A mailbox that was full, or a host that was down for days, is tried this much later, so often in all. */
const softRetry = { waitMs: 4 * 3_600_000, attempts: 3 }

/** A report as it is written, whomever it is for: reading it is the same for each of them. */
export interface ReadReport {
  readonly status?: DeliveryStatus | undefined
  readonly complaint?: { readonly type: string | undefined; readonly addresses: string } | undefined
}

/** Reads what there may be of a report, once for all recipients of a mail. */
export function readReport({ raw, header }: ProvenMail): ReadReport {
  const isReport = /^multipart\/report\b/i.test(findField(header, 'content-type') ?? '')
  if (!isReport && raw.envelope.from !== '') return {}
  const octets = toBuffer(raw.octets)
  const complaint = isReport ? readComplaint(octets, header) : undefined
  return { complaint, status: complaint ? undefined : readDeliveryStatus(octets, header) }
}

/**
 * Bounces and complaints. A bounce counts only when it came to the one address that was made for the delivery it is about, by the null sender or
 * as a report; a complaint only when it quotes that address. Anything else is kept and changes nothing: a DSN is easily forged.
 */
export function judgeReport(
  { status, complaint }: ReadReport,
  { agent, tokens, token, receivedAt }: ReportJudging,
): MailReport {
  if (complaint) return judgeComplaint(complaint, agent, tokens)
  if (token?.kind !== 'bounce' || !status) return nothing
  return judgeStatus(status, token.delivery, Date.parse(receivedAt))
}

function judgeStatus({ action, status }: DeliveryStatus, delivery: string, receivedAt: number): MailReport {
  if (action === 'delayed') return { effects: [], flags: ['delivery_delayed'] }
  if (action !== 'failed') return { effects: [], flags: ['delivery_confirmed'] }
  const bounce = { kind: 'bounced', delivery, error: `bounced: ${status}` } as const
  if (status.startsWith('4')) {
    const retry = { at: receivedAt + softRetry.waitMs, attempts: softRetry.attempts }
    return { effects: [{ ...bounce, retry }], flags: ['bounce_soft'] }
  }
  const isDead = isDeadAddress(status)
  return { effects: [{ ...bounce, ...(isDead && { suppresses: true }) }], flags: ['bounce_hard'] }
}

function readComplaint(octets: Buffer, header: HeaderBlock): ReadReport['complaint'] {
  const report = findReportPart(octets, header, /^message\/feedback-report$/i)
  if (report === undefined) return undefined
  const type = parseFieldGroups(report)[0]?.get('feedback-type')?.toLowerCase()
  return { type, addresses: quoteBounceAddresses(readBeginning(octets, header)) }
}

/** RFC 5965. "Not spam" is praise; whatever else there is means: no more of this. */
function judgeComplaint(
  { type, addresses }: NonNullable<ReadReport['complaint']>,
  agent: string,
  tokens: AddressTokens,
): MailReport {
  const token = tokens.findBounce(agent, addresses)
  if (!token || type === 'not-spam') return { effects: [], flags: ['feedback_report'] }
  const error = `complained of: ${/^[\w-]{1,30}$/.exec(type ?? '')?.[0] ?? 'abuse'}`
  const effect = { kind: 'bounced', delivery: token.delivery, error, isDelivered: true, suppresses: true } as const
  return { effects: [effect], flags: ['feedback_report'] }
}
