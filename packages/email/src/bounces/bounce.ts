import type { Bounce } from '@postern/core'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isReport } from '../automatic/marks.ts'
import type { AddressTokens } from '../mail/addresses.ts'
import type { HeaderBlock } from '../mail/octets.ts'
import { findField, toBuffer } from '../mail/octets.ts'
import type { AddressToken } from '../mail/read-tokens.ts'
import { quoteBounceAddresses } from '../mail/read-tokens.ts'
import { readBoundary } from '../mime/shape.ts'

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

/** A mail that is no report. */
export const noReport: MailReport = { effects: [], flags: [] }

/** A mailbox that was full, or a host that was down for days, is tried this much later, so often in all. */
const softRetry = { waitMs: 4 * 3_600_000, attempts: 3 }

/** A report as it is written, whomever it is for: reading it is the same for each of them. */
export interface ReadReport {
  readonly status?: DeliveryStatus | undefined
  readonly complaint?: { readonly type: string | undefined; readonly addresses: string } | undefined
}

/** Reads what there may be of a report, once for all recipients of a mail: of one by the null sender, or of one whose type says so. */
export function readReport({ raw, header }: ProvenMail): ReadReport {
  const octets = toBuffer(raw.octets)
  const complaint = isReport(header) ? readComplaint(octets, header) : undefined
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
  if (token?.kind !== 'bounce' || !status) return noReport
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

/** Reports are short; what follows them is the mail they are about. */
const longestRead = 256 * 1024

/** The text of one of a report's parts (RFC 6522 §3), by its type; undefined when there is none. */
function findReportPart(octets: Buffer, header: HeaderBlock, type: RegExp): string | undefined {
  const text = readBeginning(octets, header)
  const boundary = readBoundary(findField(header, 'content-type') ?? '')
  if (!boundary) return undefined
  for (const part of text.split(`\n--${boundary}`)) {
    const end = /\r?\n\r?\n/.exec(part)
    const head = part.slice(0, end?.index ?? 0).replace(/\r?\n[ \t]+/g, ' ')
    if (!end || !isOfType(head, type)) continue
    return decodePart(part.slice(end.index + end[0].length), head)
  }
  return undefined
}

/** The first of a message's text, octet by octet: enough for every report. */
function readBeginning(octets: Buffer, { bodyStart }: HeaderBlock): string {
  return `\n${octets.toString('latin1', bodyStart, bodyStart + longestRead)}`
}

function isOfType(head: string, wanted: RegExp): boolean {
  const type = /^content-type:[ \t]*([\w-]+\/[\w-]+)/im.exec(head)?.[1]
  return type !== undefined && wanted.test(type)
}

function decodePart(text: string, head: string): string {
  const isBase64 = /^content-transfer-encoding:[ \t]*base64/im.test(head)
  return isBase64 ? Buffer.from(text, 'base64').toString('latin1') : text
}

/** Groups of fields with an empty line between them, as delivery reports are written (RFC 3464 §2.1). Names in lower case, first value wins. */
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

/** What a report says of one recipient (RFC 3464 §2.3). */
interface DeliveryStatus {
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** RFC 3463, the most exact there is: `5.1.1`. */
  readonly status: string
}

const actions = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const

/** The worst news first: a report of ours has one recipient, and may name several for what became of it. */
export function readDeliveryStatus(octets: Buffer, header: HeaderBlock): DeliveryStatus | undefined {
  const report = findReportPart(octets, header, /^message\/(?:global-)?delivery-status$/i)
  if (report === undefined) return undefined
  const words = findReportPart(octets, header, /^text\/plain$/i) ?? ''
  const found = parseFieldGroups(report).flatMap(group => readRecipient(group, words))
  return actions.flatMap(wanted => found.filter(({ action }) => action === wanted))[0]
}

function readRecipient(group: ReadonlyMap<string, string>, words: string): readonly DeliveryStatus[] {
  const recipient = group.get('final-recipient') ?? group.get('original-recipient')
  if (recipient === undefined) return []
  const action = actions.find(name => name === group.get('action')?.split(/[\s(]/, 1)[0]?.toLowerCase())
  const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(group.get('status') ?? '')?.[0]
  if (!status && !action) return []
  const exact = sharpenStatus(status, group.get('diagnostic-code') ?? findReplyLine(words, recipient))
  return [{ action: action ?? (exact.startsWith('5') ? 'failed' : 'delayed'), status: exact }]
}

/**
 * What the server that refused answered, where only the part for people has it: `someone@example.org: 550 No such user here` (OpenSMTPD), or the
 * address and the reason in lines below it (Exim).
 */
function findReplyLine(words: string, recipient: string): string {
  const address = recipient
    .replace(/^[^;]*;/, '')
    .trim()
    .toLowerCase()
  const lines = words.slice(0, longestWords).split(/\r?\n/, mostLines)
  const at = lines.findIndex(line => `${line.trim().toLowerCase()}:`.startsWith(`${address}:`))
  if (!address || at < 0) return ''
  const rest = lines.slice(at, at + 6)
  const end = rest.findIndex(line => line.trim() === '')
  return rest
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
    .slice(address.length)
}

const [longestWords, mostLines] = [64 * 1024, 1000]

/** How servers without enhanced codes say that nobody is there. */
const noSuchUser =
  /\bno such (?:user|recipient|mailbox|address|account)|(?:user|recipient|mailbox|address|account)(?: is)? (?:unknown|not found|does(?: not|n.t) exist)|\b(?:unknown|invalid|nonexistent) (?:user|recipient|mailbox|address)|\bunrouteable address/i

/** Some say `5.0.0` and leave the rest to the words of the server that refused (Exim, qmail, OpenSMTPD). */
function sharpenStatus(status: string | undefined, reply: string): string {
  if (status && !status.endsWith('.0.0')) return status
  const enhanced = /(?:^|[\s#(])([45]\.\d{1,3}\.\d{1,3})\b/.exec(reply)?.[1]
  if (enhanced && !enhanced.endsWith('.0.0') && (!status || enhanced[0] === status[0])) return enhanced
  const bare = status ?? (/(?:^|[\s;])4\d\d[\s-]/.test(reply) ? '4.0.0' : '5.0.0')
  return bare === '5.0.0' && noSuchUser.test(reply) ? '5.1.1' : bare
}

/**
 * Faults of the address itself, by RFC 3463: nobody there, nobody there any more, no such host. What a server refuses for its content, its size or
 * its policy is over for this mail, and says nothing about the next; nor does one that says no more than that it failed (`5.0.0`).
 */
export function isDeadAddress(status: string): boolean {
  return /^5\.(?:1\.(?:0|1|2|3|6|10)|2\.1|4\.4)$/.test(status)
}
