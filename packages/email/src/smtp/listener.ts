import { createServer } from 'node:net'
import type { ByteBudget, ByteHold, Listening, Platform, RefusalPlace } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import { networkOf } from '@postern/http'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'
import type { MailListenConfig } from '../config/servers.ts'
import type { MailIntake } from '../intake/intake.ts'
import type { MailEnvelopeIn } from '../mail/raw.ts'
import { toSmtpReply } from './replies.ts'
import { openListenPlace } from './socket.ts'

interface SmtpListening {
  readonly config: MailListenConfig
  readonly maxBytes: number
  /** The maximum of messages that are received at a time. */
  readonly bodies: ByteBudget
  readonly sleep: Platform['sleep']
  /** The name we greet with. */
  readonly domain: string
  readonly intake: MailIntake
}

/**
 * Listens for mail from an MTA in front of us: SMTP or LMTP, no login, no TLS, meant for loopback or a private network. The
 * library is loaded with the first connection, or soon after the start, so that the port is open at once.
 */
export async function openSmtpListener(listening: SmtpListening): Promise<Listening> {
  const { config } = listening
  const busy = new Set<Promise<void>>()
  let server: Promise<SMTPServer> | undefined
  const sockets = createServer(async socket => {
    socket.on('error', () => undefined)
    socket.pause()
    server ??= createSmtpServer(listening, busy)
    ;(await server).connect(socket)
  })
  const place = await openListenPlace(sockets, config)
  sockets.on('error', () => undefined)
  return {
    label: 'mail',
    description: `${config.protocol.toUpperCase()} on ${place.text}`,
    port: place.port,
    release: () => new Promise(resolve => sockets.close(() => resolve())),
    async close() {
      const closed = new Promise<void>(resolve => sockets.close(() => resolve()))
      await Promise.allSettled(busy)
      for (const connection of (await server)?.connections ?? []) {
        connection.send(421, 'Shutting down', 'SERVICE_UNAVAILABLE')
        connection.close()
      }
      await closed
    },
  }
}

export function loadSmtpServer(): Promise<typeof import('smtp-server')> {
  return import('smtp-server')
}

async function createSmtpServer(listening: SmtpListening, busy: Set<Promise<void>>): Promise<SMTPServer> {
  const { SMTPServer } = await loadSmtpServer()
  const { config, domain, maxBytes } = listening
  const isLmtp = config.protocol === 'lmtp'
  // The file system decides who may open a socket: its clients have no address.
  const trustedPeers = config.path === undefined ? config.trusted_peers : true
  const server = new SMTPServer({
    lmtp: isLmtp,
    name: domain,
    banner: 'Postern',
    size: maxBytes,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    logger: false,
    maxClients: config.max_connections,
    maxRecipients: config.max_recipients,
    socketTimeout: config.timeout_ms,
    useXForward: trustedPeers,
    useXClient: trustedPeers,
    onRcptTo({ address }, session, done) {
      try {
        listening.intake.checkRecipient(address, placeOf(session, listening))
        done()
      } catch (error) {
        done(asSmtpError(error))
      }
    },
    onClose: session => recordAnnounced(session, listening),
    onData(stream, session, done) {
      // One session may bring several.
      const place = { ...placeOf(session, listening), request: {} }
      const cut = (error: unknown) => cutOff(server, session, error, { ...listening, place })
      const peer = networkOf(withoutPrefix(session.remoteAddress))
      const reading = { listening, peer, cut }
      const taking = readData(stream as AsyncIterable<Uint8Array>, reading, octets =>
        takeData(octets, session, { ...listening, place }),
      )
        .then(outcome => done(null, outcome))
        .catch(error => {
          listening.intake.recordRefusal(error, place)
          done(asSmtpError(error))
        })
        .finally(() => busy.delete(taking))
      busy.add(taking)
    },
  })
  // A client that goes away in the middle is no event; it comes back.
  server.on('error', () => undefined)
  return server
}

/** Ends a connection in the middle of its message: the rest would cost more than it can be worth. */
function cutOff(server: SMTPServer, session: SMTPServerSession, error: unknown, listening: MailTaking): void {
  const connection = [...server.connections].find(({ id }) => id === session.id)
  const { code, enhanced, text } = toSmtpReply(error)
  listening.intake.recordRefusal(error, listening.place)
  connection?.send(`${code} ${enhanced}` as unknown as number, text)
  connection?.close()
}

/**
 * The library refuses a client that announces too much (RFC 1870 §6.1), and reports it only at the end, in its last
 * refusal.
 */
function recordAnnounced(session: SMTPServerSession, listening: SmtpListening): void {
  const { maxBytes, intake } = listening
  if (!session.error?.startsWith('552 5.3.4 Error:')) return
  const rejection = new Rejection('too_large', `Cannot accept mail: announced as larger than ${maxBytes} bytes`)
  intake.recordRefusal(rejection, placeOf(session, listening))
}

interface MailTaking extends SmtpListening {
  readonly place: RefusalPlace
}

/** Where and from whom it comes, as far as the session tells. */
function placeOf({ remoteAddress, envelope }: SMTPServerSession, { config }: SmtpListening): RefusalPlace {
  const sender = envelope.mailFrom ? envelope.mailFrom.address : undefined
  const agent = envelope.rcptTo.map(({ address }) => address).join(', ')
  return {
    from: withoutPrefix(remoteAddress),
    endpoint: config.protocol.toUpperCase(),
    statusOf: error => toSmtpReply(error).code,
    ...(sender && { claimed_sender: sender }),
    ...(agent !== '' && { agent }),
  }
}

/** The reply to DATA: one for all recipients, or with LMTP (RFC 2033 §4.2) one for each. */
async function takeData(
  octets: Uint8Array,
  session: SMTPServerSession,
  listening: MailTaking,
): Promise<string | (string | Error)[]> {
  const envelope = readEnvelope(session, listening.config)
  if (listening.config.protocol === 'smtp') {
    await listening.intake.take(octets, envelope, listening.place)
    return 'accepted'
  }
  const settled = await listening.intake.takeEach(octets, envelope, listening.place)
  return settled.map(result => (result.status === 'fulfilled' ? 'accepted' : asSmtpError(result.reason)))
}

function readEnvelope(session: SMTPServerSession, config: MailListenConfig): MailEnvelopeIn {
  const { envelope, remoteAddress, hostNameAppearsAs } = session
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : '',
    to: envelope.rcptTo.map(({ address }) => address),
    ...(isOfPeer(session, config) && { endpoint: 'listen' }),
    ...(isClientKnown(session, config) && {
      ip: remoteAddress,
      ...(hostNameAppearsAs && { helo: hostNameAppearsAs }),
    }),
  }
}

/** Whether the other end of the connection is one of the operator's servers, whatever client it names. */
function isOfPeer({ remoteAddress, xForward, xClient }: SMTPServerSession, config: MailListenConfig): boolean {
  const told = xForward.get('ADDR:DEFAULT') ?? xClient.get('ADDR:DEFAULT')
  const address = typeof told === 'string' ? told : remoteAddress
  return config.path !== undefined || config.trusted_peers.includes(withoutPrefix(address))
}

/** An IPv4 address as it is written. */
function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:/i, '')
}

/** A client that speaks LMTP is a server that forwards mail, and so a trusted peer: only it knows who brought the mail. */
function isClientKnown(session: SMTPServerSession, { protocol, path, trusted_peers }: MailListenConfig): boolean {
  const { remoteAddress, xForward, xClient } = session
  if (xForward.get('ADDR') || xClient.get('ADDR')) return true
  return protocol === 'smtp' && path === undefined && !trusted_peers.includes(withoutPrefix(remoteAddress))
}

/**
 * The library writes its own enhanced code after a number it knows (550 becomes 5.1.1, whatever happened). A code that already
 * carries one is written as it is.
 */
function asSmtpError(error: unknown): Error {
  const { code, enhanced, text } = toSmtpReply(error)
  return Object.assign(new Error(text), { responseCode: `${code} ${enhanced}` as unknown as number })
}

interface DataReading {
  readonly listening: Pick<SmtpListening, 'config' | 'maxBytes' | 'bodies' | 'sleep'>
  /** The network of the client. */
  readonly peer: string
  /** Ends a message that must not continue. */
  cut(error: unknown): void
}

/**
 * Reads one message of a peer to its end in any case, because the reply comes after it; then hands it on.
 * @throws Rejection `too_large`
 * @throws Rejection `rate_limited`, Unavailable when all messages in progress exceed the byte budget
 */
async function readData<T>(
  stream: AsyncIterable<Uint8Array>,
  reading: DataReading,
  take: (octets: Uint8Array) => Promise<T>,
): Promise<T> {
  const hold = reading.listening.bodies.hold(reading.peer)
  try {
    return await take(await collectInTime(stream, hold, reading))
  } finally {
    hold.release()
  }
}

async function collectInTime(
  stream: AsyncIterable<Uint8Array>,
  hold: ByteHold,
  { listening: { config, maxBytes, sleep }, cut }: DataReading,
): Promise<Uint8Array> {
  const arrived = new AbortController()
  const mine: Receiving = {
    hold,
    maxBytes,
    stop(fault) {
      mine.fault = fault
      cut(fault)
    },
  }
  const expire = async () => {
    await sleep(config.transfer_ms, arrived.signal)
    if (!arrived.signal.aborted) mine.stop(new Unavailable('Cannot accept mail: it came too slowly'))
  }
  void expire()
  try {
    const octets = await collect(stream, mine)
    if (mine.fault) throw mine.fault
    return octets
  } finally {
    arrived.abort()
  }
}

interface Receiving {
  readonly hold: ByteHold
  readonly maxBytes: number
  stop(fault: Rejection | Unavailable): void
  /** The reason for the cut; the rest of the message is discarded. */
  fault?: Rejection | Unavailable
}

/** A chunk may be one octet, and each costs a hundred to keep: so many become one. */
const gathered = 512
/**
 * The parser makes a piece of its own of every line that begins with a dot, and spends a turn of the event loop on it.
 * 25 MB of them take it a third of a minute. No honest text has a hundred thousand such lines.
 */
const maxPieces = 100_000

/** The held budget grows with the received bytes. */
async function collect(stream: AsyncIterable<Uint8Array>, mine: Receiving): Promise<Uint8Array> {
  const { hold, maxBytes, stop } = mine
  const collection = createCollection()
  let [size, pieces] = [0, 0]
  let crowded: unknown
  for await (const chunk of stream) {
    size += chunk.length
    pieces += 1
    if (pieces === maxPieces) stop(new Rejection('malformed', 'Cannot accept mail: it comes in too many pieces'))
    crowded ??= findFault(() => hold.add(chunk.length))
    if (crowded || size > maxBytes || mine.fault) collection.clear()
    else collection.add(chunk)
  }
  if (size > maxBytes) throw new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
  if (crowded) throw crowded
  return collection.join()
}

function findFault(run: () => void): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

function createCollection() {
  let chunks: Uint8Array[] = []
  let recent: Uint8Array[] = []
  return {
    add(chunk: Uint8Array): void {
      if (recent.push(chunk) < gathered) return
      chunks.push(Buffer.concat(recent))
      recent = []
    },
    clear(): void {
      chunks = []
      recent = []
    },
    join: () => Buffer.concat([...chunks, ...recent]),
  }
}
