import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import type { Arrivals } from '../arrivals.ts'
import { createArrivals } from '../arrivals.ts'
import type { MailEnvelopePlan } from './compose.ts'
import { splitMail } from './dkim.ts'

/** A mail that the gateway has sent. */
export interface ReceivedMail extends ReadMail {
  readonly octets: Buffer
  readonly envelope: MailEnvelopePlan
}

/** How the sink answers instead of taking a mail. */
export interface MailRefusal {
  /** The SMTP reply: 450 to be asked again, 550 for good. */
  readonly code: number
  readonly message: string
  /** At which command; default after the data. */
  readonly at?: 'rcpt' | 'data' | undefined
  /** After so many all is well again; default never. */
  readonly times?: number | undefined
}

/** An SMTP server that takes everything and keeps it. */
export interface MailSink {
  readonly port: number
  readonly arrivals: Arrivals<ReceivedMail>
  /** Returns the function that fixes it. */
  refuse(refusal: MailRefusal): () => void
  close(): Promise<void>
}

export async function openMailSink(): Promise<MailSink> {
  const arrivals = createArrivals<ReceivedMail>('mail')
  const refusals = new Set<{ readonly refusal: MailRefusal; left: number }>()
  const takeRefusal = (at: 'rcpt' | 'data'): Error | undefined => {
    const entry = [...refusals].find(({ refusal }) => (refusal.at ?? 'data') === at)
    if (!entry) return undefined
    entry.left -= 1
    if (entry.left <= 0) refusals.delete(entry)
    return Object.assign(new Error(entry.refusal.message), { responseCode: entry.refusal.code })
  }
  const server = new SMTPServer({
    name: 'mx.sink.test',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onRcptTo: (_address, _session, callback) => callback(takeRefusal('rcpt')),
    onData(stream, session, callback) {
      const { mailFrom, rcptTo } = session.envelope
      const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
      buffer(stream).then(octets => {
        const refusal = takeRefusal('data')
        if (!refusal) arrivals.add({ octets, envelope, ...readMail(octets) })
        callback(refusal)
      }, callback)
    },
  })
  // A client that hangs up early is its own business.
  server.on('error', () => undefined)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    arrivals,
    refuse(refusal) {
      const entry = { refusal, left: refusal.times ?? Number.POSITIVE_INFINITY }
      refusals.add(entry)
      return () => void refusals.delete(entry)
    },
    async close() {
      arrivals.close()
      await new Promise<void>(resolve => server.close(resolve))
    },
  }
}

/** What a person's program makes of a mail: enough to look at the gateway's answers without its own parser. */
export interface ReadMail {
  /** Unfolded values by lower-case name, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Without angle brackets. */
  readonly messageId: string | undefined
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly text: string | undefined
  readonly html: string | undefined
}

interface Entity {
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
}

/** Reads headers and the first text and HTML of a message, through multiparts and transfer encodings. */
export function readMail(octets: Buffer): ReadMail {
  const entity = readEntity(octets.toString('latin1'))
  const leaves = listLeaves(entity, 10)
  const ids = (name: string) =>
    [...(entity.headers.get(name)?.join(' ') ?? '').matchAll(/<([^<>\s]+)>/g)].map(([, id]) => id ?? '')
  return {
    headers: entity.headers,
    messageId: ids('message-id')[0],
    inReplyTo: ids('in-reply-to')[0],
    references: ids('references'),
    text: readLeaf(leaves, 'text/plain'),
    html: readLeaf(leaves, 'text/html'),
  }
}

function readEntity(octets: string): Entity {
  const { fields, body } = splitMail(Buffer.from(octets, 'latin1'))
  const headers = new Map<string, string[]>()
  for (const field of fields) {
    const colon = field.indexOf(':')
    const name = field.slice(0, colon).trim().toLowerCase()
    const value = field
      .slice(colon + 1)
      .replace(/\r\n/g, '')
      .trim()
    if (colon > 0) headers.set(name, [...(headers.get(name) ?? []), value])
  }
  return { headers, body }
}

function listLeaves(entity: Entity, depth: number): readonly Entity[] {
  const boundary = contentType(entity).match(/^multipart\/.*boundary="?([^";]+)"?/i)?.[1]
  if (!boundary || depth === 0) return [entity]
  const [, ...parts] = `\r\n${entity.body}`.split(`\r\n--${boundary}`)
  return parts
    .filter(part => !part.startsWith('--'))
    .flatMap(part => listLeaves(readEntity(part.replace(/^[ \t]*\r\n/, '')), depth - 1))
}

function contentType({ headers }: Entity): string {
  return headers.get('content-type')?.[0] ?? 'text/plain'
}

const decoders: Record<string, (body: string) => Buffer> = {
  base64: body => Buffer.from(body, 'base64'),
  'quoted-printable': body =>
    Buffer.from(
      body
        .replace(/=[ \t]*\r\n/g, '')
        .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ),
}

function readLeaf(leaves: readonly Entity[], type: string): string | undefined {
  const leaf = leaves.find(entity => contentType(entity).toLowerCase().startsWith(type))
  if (!leaf) return undefined
  const encoding = leaf.headers.get('content-transfer-encoding')?.[0]?.toLowerCase() ?? ''
  const octets = decoders[encoding]?.(leaf.body) ?? Buffer.from(leaf.body, 'latin1')
  return octets.toString('utf8').replace(/\r\n/g, '\n')
}
