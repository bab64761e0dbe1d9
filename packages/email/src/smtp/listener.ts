// Receives mail by SMTP or LMTP from a mail server in front of the gateway.
import { createServer } from 'node:net'
import { networkOf } from '@postern/http'
import type { BodyBudget, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { ListeningSocket, RefusalContext } from '@postern/pipeline'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'
import type { MailListenConfig } from '../config/servers.ts'
import type { MailIntake } from '../intake/intake.ts'
import type { IncomingEnvelope } from '../mail/raw-mail.ts'
import { readData } from './data.ts'
import { openListenSocket } from './listen-socket.ts'
import { toClosingReply, toSmtpReply } from './replies.ts'

interface SmtpListenerDeps {
  readonly config: MailListenConfig
  readonly maxBytes: number
  /** The limit on messages that are received at the same time. */
  readonly bodies: BodyBudget
  readonly sleep: System['sleep']
  /** The host name in the greeting. */
  readonly domain: string
  readonly intake: MailIntake
}

/**
 * Listens for mail from an MTA in front of the gateway, over SMTP or LMTP without login and TLS. The listener is meant
 * for loopback or a private network. The library is loaded with the first connection, or soon after the start, so that
 * the port opens at once.
 */
export async function openSmtpListener(deps: SmtpListenerDeps): Promise<ListeningSocket> {
  const { config } = deps
  const transfers = new Set<Promise<void>>()
  let server: Promise<SMTPServer> | undefined
  const sockets = createServer(async socket => {
    socket.on('error', () => undefined)
    socket.pause()
    server ??= createSmtpServer(deps, transfers)
    ;(await server).connect(socket)
  })
  const socketAddress = await openListenSocket(sockets, config)
  sockets.on('error', () => undefined)
  return {
    label: 'mail',
    description: `${config.protocol.toUpperCase()} on ${socketAddress.description}`,
    port: socketAddress.port,
    release: () => new Promise(resolve => sockets.close(() => resolve())),
    async close() {
      const socketsClosed = new Promise<void>(resolve => sockets.close(() => resolve()))
      await Promise.allSettled(transfers)
      for (const connection of (await server)?.connections ?? []) {
        connection.send(421, 'Shutting down', 'SERVICE_UNAVAILABLE')
        connection.close()
      }
      await socketsClosed
    },
  }
}

/** Loads the library of the listener. */
export function loadSmtpServer(): Promise<typeof import('smtp-server')> {
  return import('smtp-server')
}

async function createSmtpServer(deps: SmtpListenerDeps, transfers: Set<Promise<void>>): Promise<SMTPServer> {
  const { SMTPServer } = await loadSmtpServer()
  const { config, domain, maxBytes } = deps
  const isLmtp = config.protocol === 'lmtp'
  // The clients of a Unix socket have no address. The file system decides who may open the socket.
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
        deps.intake.checkRecipient(address, describeRefusal(session, deps))
        done()
      } catch (error) {
        done(toSmtpError(error))
      }
    },
    onClose: session => recordAnnouncedSize(session, deps),
    onData(stream, session, done) {
      const transfer = receiveData(stream as AsyncIterable<Uint8Array>, { server, session }, deps)
        .then(outcome => done(null, outcome))
        .catch(error => done(toSmtpError(error)))
        .finally(() => transfers.delete(transfer))
      transfers.add(transfer)
    },
  })
  // The listener ignores a client that disconnects during a session, because the client retries.
  server.on('error', () => undefined)
  return server
}

interface SmtpSession {
  readonly server: SMTPServer
  readonly session: SMTPServerSession
}

/** Receives the message after DATA, and returns the reply. It records a refusal. */
async function receiveData(
  stream: AsyncIterable<Uint8Array>,
  { server, session }: SmtpSession,
  deps: SmtpListenerDeps,
): Promise<string | (string | Error)[]> {
  const { config, maxBytes, bodies, sleep, intake } = deps
  // One session may deliver several messages, so each message has its own request.
  const context = { ...describeRefusal(session, deps), request: {} }
  const memoryBudget = bodies.reserve(networkOf(removeIpv6Prefix(session.remoteAddress)))
  const closeConnection = (error: unknown) => {
    intake.recordRefusal(error, { ...context, statusOf: () => toClosingReply(error).code })
    closeWithReply({ server, session }, error)
  }
  const limits = { maxBytes, transferMs: config.transfer_ms, sleep }
  try {
    const octets = await readData(stream, { ...limits, memoryBudget, closeConnection })
    return await acceptData(octets, session, { ...deps, context })
  } catch (error) {
    intake.recordRefusal(error, context)
    throw error
  } finally {
    memoryBudget.release()
  }
}

/** Closes a connection in the middle of its message, because reading the remaining octets would cost too much. */
function closeWithReply({ server, session }: SmtpSession, error: unknown): void {
  const connection = [...server.connections].find(({ id }) => id === session.id)
  const { code, enhanced, text } = toClosingReply(error)
  connection?.send(`${code} ${enhanced}` as unknown as number, text)
  connection?.close()
}

/**
 * Records the refusal of a message that its client announced as too large (RFC 1870 §6.1). The library itself refuses
 * such a message, and reports the refusal only at the end of the session, as its last reply.
 */
function recordAnnouncedSize(session: SMTPServerSession, deps: SmtpListenerDeps): void {
  const { maxBytes, intake } = deps
  if (!session.error?.startsWith('552 5.3.4 Error:')) return
  const rejection = new Rejection('too_large', `Cannot accept mail: announced as larger than ${maxBytes} bytes`)
  intake.recordRefusal(rejection, describeRefusal(session, deps))
}

interface AcceptMailDeps extends SmtpListenerDeps {
  readonly context: RefusalContext
}

/** Returns the data about a refused mail for the operator's list of refusals, as far as the session has them. */
function describeRefusal({ remoteAddress, envelope }: SMTPServerSession, { config }: SmtpListenerDeps): RefusalContext {
  const sender = envelope.mailFrom ? envelope.mailFrom.address : undefined
  const agent = envelope.rcptTo.map(({ address }) => address).join(', ')
  return {
    from: removeIpv6Prefix(remoteAddress),
    endpoint: config.protocol.toUpperCase(),
    statusOf: error => toSmtpReply(error).code,
    ...(sender && { claimed_sender: sender }),
    ...(agent !== '' && { agent }),
  }
}

/** Accepts a message and returns the reply to DATA: one for all recipients, or one for each with LMTP (RFC 2033 §4.2). */
async function acceptData(
  octets: Uint8Array,
  session: SMTPServerSession,
  deps: AcceptMailDeps,
): Promise<string | (string | Error)[]> {
  const envelope = readEnvelope(session, deps.config)
  if (deps.config.protocol === 'smtp') {
    await deps.intake.accept(octets, envelope, deps.context)
    return 'accepted'
  }
  const results = await deps.intake.acceptEach(octets, envelope, deps.context)
  return results.map(result => (result.status === 'fulfilled' ? 'accepted' : toSmtpError(result.reason)))
}

function readEnvelope(session: SMTPServerSession, config: MailListenConfig): IncomingEnvelope {
  const { envelope, remoteAddress, hostNameAppearsAs } = session
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : '',
    to: envelope.rcptTo.map(({ address }) => address),
    ...(isFromTrustedPeer(session, config) && { endpoint: 'listen' }),
    ...(isClientKnown(session, config) && {
      ip: remoteAddress,
      ...(hostNameAppearsAs && { helo: hostNameAppearsAs }),
    }),
  }
}

/** Returns true if the connection comes from one of the operator's servers, regardless of the client that it declares. */
function isFromTrustedPeer({ remoteAddress, xForward, xClient }: SMTPServerSession, config: MailListenConfig): boolean {
  const clientAddress = xForward.get('ADDR:DEFAULT') ?? xClient.get('ADDR:DEFAULT')
  const address = typeof clientAddress === 'string' ? clientAddress : remoteAddress
  return config.path !== undefined || config.trusted_peers.includes(removeIpv6Prefix(address))
}

/** Returns an IPv4 address without its IPv6 prefix. */
function removeIpv6Prefix(address: string): string {
  return address.replace(/^::ffff:/i, '')
}

/**
 * Returns true if the session shows which client delivered the mail. An LMTP client or a trusted peer is a server that
 * forwards mail, so only a declared client counts.
 */
function isClientKnown(session: SMTPServerSession, { protocol, path, trusted_peers }: MailListenConfig): boolean {
  const { remoteAddress, xForward, xClient } = session
  if (xForward.get('ADDR') || xClient.get('ADDR')) return true
  return protocol === 'smtp' && path === undefined && !trusted_peers.includes(removeIpv6Prefix(remoteAddress))
}

/**
 * Returns an error for the library. After a numeric code, the library writes its own enhanced code (5.1.1 for every
 * 550). So the code here is a text that already contains the enhanced code.
 */
function toSmtpError(error: unknown): Error {
  const { code, enhanced, text } = toSmtpReply(error)
  return Object.assign(new Error(text), { responseCode: `${code} ${enhanced}` as unknown as number })
}
