import type { HeaderBlock } from '../mail/header-scan.ts'
import { findField } from '../mail/header-scan.ts'

/** Reports are short; what follows them is the mail they are about. */
const longestRead = 256 * 1024

/** The text of one of a report's parts (RFC 6522 §3), by its type; undefined when there is none. */
export function findReportPart(octets: Buffer, header: HeaderBlock, type: RegExp): string | undefined {
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
export function readBeginning(octets: Buffer, { bodyStart }: HeaderBlock): string {
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

function readBoundary(type: string): string | undefined {
  const match = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(type)
  return match?.[1] ?? match?.[2]
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
