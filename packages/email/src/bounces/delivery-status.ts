import type { HeaderBlock } from '../mail/header-scan.ts'
import { findReportPart, parseFieldGroups } from './report-part.ts'

/** What a report says of one recipient (RFC 3464 §2.3). */
export interface DeliveryStatus {
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
