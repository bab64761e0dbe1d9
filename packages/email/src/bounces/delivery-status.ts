import type { HeaderBlock } from '../header-scan.ts'
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
  const report = findReportPart(octets, header, /^(?:global-)?delivery-status$/i)
  if (report === undefined) return undefined
  const found = parseFieldGroups(report).flatMap(readRecipient)
  return actions.flatMap(wanted => found.filter(({ action }) => action === wanted))[0]
}

function readRecipient(group: ReadonlyMap<string, string>): readonly DeliveryStatus[] {
  if (!group.has('final-recipient') && !group.has('original-recipient')) return []
  const action = actions.find(name => name === group.get('action')?.split(/[\s(]/, 1)[0]?.toLowerCase())
  const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(group.get('status') ?? '')?.[0]
  if (!status && !action) return []
  const exact = sharpenStatus(status, group.get('diagnostic-code') ?? '')
  return [{ action: action ?? (exact.startsWith('5') ? 'failed' : 'delayed'), status: exact }]
}

/** Some say `5.0.0` and leave the rest to the words of the server that refused (Exim, qmail). */
function sharpenStatus(status: string | undefined, diagnostic: string): string {
  if (status && !status.endsWith('.0.0')) return status
  const enhanced = /(?:^|[\s#(])([45]\.\d{1,3}\.\d{1,3})\b/.exec(diagnostic)?.[1]
  if (enhanced && (!status || enhanced[0] === status[0])) return enhanced
  return status ?? (/(?:^|[\s;])4\d\d[\s-]/.test(diagnostic) ? '4.0.0' : '5.0.0')
}
