// Reads bounces and complaints, and decides their effect on the delivery that they report on.
import type { Bounce } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isReport } from '../automatic/auto-reply.ts'
import { matchFieldRules } from '../automatic/field-rules.ts'
import { isUnattended } from '../automatic/unattended-mailbox.ts'
import { readBoundary } from '../entity/boundary.ts'
import { toBuffer } from '../mail/buffers.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { decodeHeaderText } from '../mail/header-text.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import type { AddressToken } from '../tokens/bounce-address.ts'
import { quoteBounceAddresses } from '../tokens/bounce-address.ts'
import { findReplyLine, isWarning, readServerText, refineStatus } from './server-text.ts'

/** The effects of a report about a mail that the gateway sent, and its flags. */
interface ReportJudgement {
  readonly effects: readonly Bounce[]
  readonly flags: readonly string[]
}

/** The agent that receives a report, and the address to which the report was sent. */
interface ReportContext {
  readonly agent: string
  readonly tokens: AddressTokens
  readonly token: AddressToken | undefined
  /** The time of receipt, ISO 8601 UTC. */
  readonly receivedAt: string
}

/** The judgement of a mail that is not a report. */
export const noReport: ReportJudgement = { effects: [], flags: [] }

/**
 * The delay of a retry after a soft bounce (a full mailbox, or a host that was down for days), and the maximum number
 * of attempts.
 */
const softRetry = { waitMs: 4 * 3_600_000, attempts: 3 }

/** The content of a report. */
export interface ParsedReport {
  readonly status?: DeliveryStatus | undefined
  readonly complaint?: { readonly type: string | undefined; readonly addresses: string } | undefined
}

/** Reads a report once for all recipients of a mail. It uses the machine-readable parts, or else the text that a mail server wrote for people. */
export function readReport({ raw, header, addresses }: ProvenMail): ParsedReport {
  const octets = toBuffer(raw.octets)
  const complaint = isReport(header) ? readComplaint(octets, header) : undefined
  if (complaint) return { complaint }
  return { status: readDeliveryStatus(octets, header) ?? readPlainReport(octets, { header, author: addresses.author }) }
}

/**
 * Judges bounces and complaints. A bounce counts only if it came to the bounce address of the delivery that it reports
 * on. A complaint counts only if it quotes that address. Any other report is stored and changes nothing, because anyone
 * can forge a DSN.
 */
export function judgeReport(
  { status, complaint }: ParsedReport,
  { agent, tokens, token, receivedAt }: ReportContext,
): ReportJudgement {
  if (complaint) return judgeComplaint(complaint, agent, tokens)
  if (token?.kind !== 'bounce' || !status) return noReport
  return judgeStatus(status, token.delivery, Date.parse(receivedAt))
}

function judgeStatus({ action, status }: DeliveryStatus, delivery: string, receivedAt: number): ReportJudgement {
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

function readComplaint(octets: Buffer, header: HeaderBlock): ParsedReport['complaint'] {
  const report = findReportPart(octets, header, /^message\/feedback-report$/i)
  if (report === undefined) return undefined
  const type = parseFieldGroups(report)[0]?.get('feedback-type')?.toLowerCase()
  return { type, addresses: quoteBounceAddresses(readBeginning(octets, header)) }
}

/** Judges a complaint (RFC 5965). The type `not-spam` is praise. Every other type means that the recipient wants no more of this mail. */
function judgeComplaint(
  { type, addresses }: NonNullable<ParsedReport['complaint']>,
  agent: string,
  tokens: AddressTokens,
): ReportJudgement {
  const token = tokens.findBounce(agent, addresses)
  if (!token || type === 'not-spam') return { effects: [], flags: ['feedback_report'] }
  const error = `complained of: ${/^[\w-]{1,30}$/.exec(type ?? '')?.[0] ?? 'abuse'}`
  const effect = { kind: 'bounced', delivery: token.delivery, error, isDelivered: true, suppresses: true } as const
  return { effects: [effect], flags: ['feedback_report'] }
}

/** The longest part of a message that is read, in octets. Reports are short, and only the quoted mail follows them. */
const maxReportBytes = 256 * 1024

/**
 * Finds the text of the first part of a report (RFC 6522 §3) with this type. It returns undefined if there is no such
 * part.
 */
function findReportPart(octets: Buffer, header: HeaderBlock, type: RegExp): string | undefined {
  const text = readBeginning(octets, header)
  const boundary = readBoundary(findField(header, 'content-type') ?? '')
  if (!boundary) return undefined
  for (const part of text.split(`\n--${boundary}`)) {
    const headerEnd = /\r?\n\r?\n/.exec(part)
    const partHeader = part.slice(0, headerEnd?.index ?? 0).replace(/\r?\n[ \t]+/g, ' ')
    if (!headerEnd || !hasType(partHeader, type)) continue
    const [, encoding = ''] = /^content-transfer-encoding:[ \t]*(.*)$/im.exec(partHeader) ?? []
    return decodePart(part.slice(headerEnd.index + headerEnd[0].length), encoding)
  }
  return undefined
}

/** Reads the beginning of a message's body as Latin-1, which is enough for every report. */
function readBeginning(octets: Buffer, { bodyStart }: HeaderBlock): string {
  return `\n${octets.toString('latin1', bodyStart, bodyStart + maxReportBytes)}`
}

function hasType(partHeader: string, typePattern: RegExp): boolean {
  const type = /^content-type:[ \t]*([\w-]+\/[\w-]+)/im.exec(partHeader)?.[1]
  return type !== undefined && typePattern.test(type)
}

function decodePart(text: string, encoding: string): string {
  return /^base64/i.test(encoding) ? Buffer.from(text, 'base64').toString('latin1') : text
}

/**
 * Parses groups of fields that are separated by empty lines, as in delivery reports (RFC 3464 §2.1). Names are in lower case, and the first value of
 * a name counts.
 */
export function parseFieldGroups(text: string): readonly ReadonlyMap<string, string>[] {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/\n[ \t]+/g, ' ')
    .split(/\n{2,}/)
    .slice(0, 1000)
    .map(readFields)
    .filter(group => group.size > 0)
}

function readFields(block: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    if (/^[\w-]+$/.test(name) && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

/** The status of one recipient in a report (RFC 3464 §2.3). */
interface DeliveryStatus {
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** The enhanced status code (RFC 3463), such as `5.1.1`. It is the most exact code in the report. */
  readonly status: string
}

/** The actions of RFC 3464 §2.3.3, worst first. */
const actions = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const

/**
 * Reads the status of a delivery report. A report about a mail of this gateway has one recipient but may name several outcomes, so the worst one
 * counts.
 */
export function readDeliveryStatus(octets: Buffer, header: HeaderBlock): DeliveryStatus | undefined {
  const report = findReportPart(octets, header, /^message\/(?:global-)?delivery-status$/i)
  if (report === undefined) return undefined
  const humanText = findReportPart(octets, header, /^text\/plain$/i) ?? ''
  const statuses = parseFieldGroups(report).flatMap(group => readRecipientStatus(group, humanText))
  return actions.flatMap(worstAction => statuses.filter(({ action }) => action === worstAction))[0]
}

function readRecipientStatus(group: ReadonlyMap<string, string>, humanText: string): readonly DeliveryStatus[] {
  const recipient = group.get('final-recipient') ?? group.get('original-recipient')
  if (recipient === undefined) return []
  const action = actions.find(name => name === group.get('action')?.split(/[\s(]/, 1)[0]?.toLowerCase())
  const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(group.get('status') ?? '')?.[0]
  if (!status && !action) return []
  // A report about one mail of this gateway has one recipient, so all of its text is about that recipient.
  const reply = group.get('diagnostic-code') ?? (findReplyLine(humanText, recipient) || readServerText(humanText))
  const exactStatus = refineStatus(status, reply)
  return [{ action: action ?? (exactStatus.startsWith('5') ? 'failed' : 'delayed'), status: exactStatus }]
}

/**
 * Reads a report without machine-readable parts (qmail, older servers). Such a report counts only at the bounce address
 * of one delivery, to which people do not write (RFC 5321 §4.5.5). Vacation notices also arrive there, but their author
 * is a person's mailbox.
 */
function readPlainReport(octets: Buffer, { header, author }: PlainReport): DeliveryStatus | undefined {
  const isFromServer = isUnattended(author) || findField(header, 'x-failed-recipients') !== undefined
  const isOtherReport = isReport(header) && !/\bdelivery-status\b/i.test(findField(header, 'content-type') ?? '')
  if (!isFromServer || isOtherReport || matchFieldRules(header).includes('list')) return undefined
  const serverText = readServerText(
    decodePart(readBeginning(octets, header), findField(header, 'content-transfer-encoding') ?? ''),
  )
  if (isWarning(decodeHeaderText(findField(header, 'subject') ?? ''), serverText))
    return { action: 'delayed', status: '4.0.0' }
  return { action: 'failed', status: refineStatus(undefined, serverText) }
}

interface PlainReport {
  readonly header: HeaderBlock
  readonly author: Pick<Mailbox, 'local'>
}

/**
 * Returns true for errors of the address itself (RFC 3463): the mailbox or its host does not exist, or no longer
 * exists. A refusal for content, size or policy ends only this mail. So does a code without details (`5.0.0`).
 */
export function isDeadAddress(status: string): boolean {
  return /^5\.(?:1\.(?:0|1|2|3|6|10)|2\.1|4\.4)$/.test(status)
}
