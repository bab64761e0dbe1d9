// Computes the digest that identifies repeated copies of a message.

import { createHash } from 'node:crypto'
import type { HeaderBlock } from './header.ts'

/**
 * Fields that servers add or change in transit. Two copies of a mail that took different paths differ in these fields
 * only.
 */
const traceNames: ReadonlySet<string> = new Set([
  'received',
  'return-path',
  'delivered-to',
  'x-original-to',
  'x-delivered-to',
  'x-envelope-to',
  'x-received',
  'authentication-results',
  'received-spf',
  'dkim-filter',
])

const tracePrefixes = [
  'arc-',
  'x-google-',
  'x-gm-',
  'x-spam-',
  'x-ses-',
  'x-mailgun-',
  'x-forwardemail-',
  'x-cloudmailin-',
  'x-pm-',
]

/**
 * Returns the SHA-256 of a message without its trace fields, in lower-case hex. A message with a known digest is a
 * duplicate.
 */
export function digestContent(octets: Buffer, { fields, bodyStart }: HeaderBlock): string {
  const hash = createHash('sha256')
  for (const { name, start, end } of fields) if (!isTraceField(name)) hash.update(octets.subarray(start, end))
  return hash.update('\r\n').update(octets.subarray(bodyStart)).digest('hex')
}

function isTraceField(name: string): boolean {
  return traceNames.has(name) || tracePrefixes.some(prefix => name.startsWith(prefix))
}
