// Receives the gateway's mail over SMTP, and reads it with its own parser.
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import type { Arrivals } from '../arrivals.ts'
import { createArrivals } from '../arrivals.ts'
import type { SentFilePart } from '../sent-part.ts'
import type { MailEnvelopePlan } from './compose.ts'
import { splitMail } from './dkim.ts'

/** A mail that the gateway has sent. */
export interface ReceivedMail extends ReadMail {
  readonly octets: Buffer
  readonly envelope: MailEnvelopePlan
}

/** The reply with which the sink refuses a mail. */
export interface MailRefusal {
  /** The SMTP code, such as 450 for a temporary failure or 550 for a permanent failure. */
  readonly code: number
  readonly message: string
  /** The command that the sink refuses. Default: `data`, after the message. */
  readonly at?: 'rcpt' | 'data' | undefined
  /** The number of refusals before the sink accepts mail again. Default: no limit. */
  readonly times?: number | undefined
}

/** An SMTP server that accepts and stores all mail. */
export interface MailSink {
  readonly port: number
  readonly arrivals: Arrivals<ReceivedMail>
  /** Makes the sink refuse mail. Returns the function that ends the refusal. */
  refuse(refusal: MailRefusal): () => void
  close(): Promise<void>
}

export async function openMailSink(): Promise<MailSink> {
  const arrivals = createArrivals<ReceivedMail>('mail')
  const refusals = new Set<{ readonly refusal: MailRefusal; remainingCount: number }>()
  const consumeRefusal = (stage: 'rcpt' | 'data'): Error | undefined => {
    const entry = [...refusals].find(({ refusal }) => (refusal.at ?? 'data') === stage)
    if (!entry) return undefined
    entry.remainingCount -= 1
    if (entry.remainingCount <= 0) refusals.delete(entry)
    return Object.assign(new Error(entry.refusal.message), { responseCode: entry.refusal.code })
  }
  const server = new SMTPServer({
    name: 'mx.sink.test',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onRcptTo: (_address, _session, callback) => callback(consumeRefusal('rcpt')),
    onData(stream, session, callback) {
      const { mailFrom, rcptTo } = session.envelope
      const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
      buffer(stream).then(octets => {
        const refusal = consumeRefusal('data')
        if (!refusal) arrivals.add({ octets, envelope, ...readMail(octets) })
        callback(refusal)
      }, callback)
    },
  })
  // Clients may disconnect at any time, which is no failure of the sink.
  server.on('error', () => undefined)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    arrivals,
    refuse(refusal) {
      const entry = { refusal, remainingCount: refusal.times ?? Number.POSITIVE_INFINITY }
      refusals.add(entry)
      return () => void refusals.delete(entry)
    },
    async close() {
      arrivals.close()
      await new Promise<void>(resolve => server.close(resolve))
    },
  }
}

/** A mail with the contents that a mail program shows. Reading it does not depend on the gateway's parser. */
export interface ReadMail {
  /** The unfolded values by lower-case name, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** The Message-ID without angle brackets. */
  readonly messageId: string | undefined
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly text: string | undefined
  readonly html: string | undefined
  /** The leaf parts that have a file name. */
  readonly files: readonly SentFilePart[]
}

interface Entity {
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
}

/** Reads the headers and the first text and HTML of a message, through multiparts and transfer encodings. */
export function readMail(octets: Buffer): ReadMail {
  const entity = readEntity(octets.toString('latin1'))
  const leaves = listLeaves(entity, 10)
  const listIds = (name: string) =>
    [...(entity.headers.get(name)?.join(' ') ?? '').matchAll(/<([^<>\s]+)>/g)].map(([, id]) => id ?? '')
  return {
    headers: entity.headers,
    messageId: listIds('message-id')[0],
    inReplyTo: listIds('in-reply-to')[0],
    references: listIds('references'),
    text: readLeaf(leaves, 'text/plain'),
    html: readLeaf(leaves, 'text/html'),
    files: leaves.flatMap(readFile),
  }
}

function readFile(entity: Entity): readonly SentFilePart[] {
  const disposition = entity.headers.get('content-disposition')?.[0] ?? ''
  const [, encodedName, plainName] = /filename(?:\*=utf-8''([^;\s]+)|="?([^";]+)"?)/i.exec(disposition) ?? []
  const name = encodedName === undefined ? plainName && decodeMailHeader(plainName) : decodeURIComponent(encodedName)
  const mime = contentType(entity).split(';')[0]?.trim() ?? ''
  return name ? [{ kind: 'file', name, mime, bytes: readOctets(entity) }] : []
}

/** Decodes the non-ASCII words of a header in UTF-8 (RFC 2047). */
export function decodeMailHeader(header: string): string {
  const joinedWords = header.replace(/(=\?utf-8\?[bq]\?[^?]*\?=)\s+(?==\?utf-8\?)/gi, '$1')
  return joinedWords.replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
    encoding.toLowerCase() === 'b'
      ? Buffer.from(word, 'base64').toString()
      : readQuoted(word.replaceAll('_', ' ')).toString(),
  )
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
  'quoted-printable': body => readQuoted(body.replace(/=[ \t]*\r\n/g, '')),
}

function readQuoted(text: string): Buffer {
  const octets = text.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(octets, 'latin1')
}

function readOctets({ headers, body }: Entity): Buffer {
  const encoding = headers.get('content-transfer-encoding')?.[0]?.toLowerCase() ?? ''
  return decoders[encoding]?.(body) ?? Buffer.from(body, 'latin1')
}

function readLeaf(leaves: readonly Entity[], type: string): string | undefined {
  const leaf = leaves.find(entity => contentType(entity).toLowerCase().startsWith(type))
  if (!leaf) return undefined
  return readOctets(leaf).toString('utf8').replace(/\r\n/g, '\n')
}
