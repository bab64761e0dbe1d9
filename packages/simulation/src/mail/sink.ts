import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Arrivals } from '../arrivals.ts'
import { createArrivals } from '../arrivals.ts'
import { readAll } from '../net/read-all.ts'
import type { MailEnvelopePlan } from './compose.ts'
import type { ReadMail } from './read-mail.ts'
import { readMail } from './read-mail.ts'

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
      readAll(stream).then(octets => {
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
