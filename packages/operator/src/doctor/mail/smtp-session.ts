// Talks SMTP or LMTP to a mail server for a check.
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { connect as connectTls, getCACertificates, TLSSocket } from 'node:tls'
import type { Handshake } from '../network/handshake.ts'
import { awaitSecureConnection, describeHandshake } from '../network/handshake.ts'

export interface SmtpServerAddress {
  readonly host: string
  readonly port?: number | undefined
  /** The path of a Unix socket, instead of host and port. */
  readonly path?: string | undefined
  readonly protocol?: 'smtp' | 'lmtp' | undefined
  /** The name in the certificate, for TLS from the first byte. */
  readonly secureName?: string | undefined
  readonly authorities?: readonly string[] | undefined
}

/** The greeting of a mail server. */
interface SmtpGreeting {
  /** The first line of the greeting. */
  readonly banner: string
  /** Extensions (RFC 5321 §4.1.1.1) by upper-case names: `SIZE` → `10240000`. */
  readonly extensions: ReadonlyMap<string, string>
}

interface SmtpReply {
  readonly code: number
  readonly lines: readonly string[]
}

export interface SmtpSession {
  readonly greeting: SmtpGreeting
  /** Present if the session uses TLS from the first byte. */
  readonly handshake: Handshake | undefined
  /** Sends one command and returns its reply. @throws Error if the server closes the connection */
  send(command: string): Promise<SmtpReply>
  /** Ends the session with a handshake (RFC 3207). `host` is the name in the certificate. @throws Error if the handshake fails */
  startTls(authorities: readonly string[], host: string): Promise<Handshake>
}

const replyTimeoutMs = 5_000

/** Opens a session as `name`, runs `work`, and ends the session. @throws Error if the server does not answer as a mail server does */
export async function talkToMailServer<Value>(
  server: SmtpServerAddress,
  name: string,
  work: (session: SmtpSession) => Promise<Value> | Value,
): Promise<Value> {
  const socket = openSocket(server)
  socket.setTimeout(replyTimeoutMs, () => socket.destroy(new Error('it does not answer in time')))
  try {
    const replies = readReplies(socket)
    const send = async (command: string) => {
      socket.write(`${command}\r\n`)
      return readReply(replies)
    }
    const banner = requireReply(await readReply(replies), 220)
    const [, ...lines] = requireReply(await send(`${server.protocol === 'lmtp' ? 'LHLO' : 'EHLO'} ${name}`), 250)
    const greeting = { banner: banner[0] ?? '', extensions: new Map(lines.map(parseExtension)) }
    const startTls = async (authorities: readonly string[], host: string) => {
      requireReply(await send('STARTTLS'), 220)
      return upgradeToTls(socket, host, authorities)
    }
    const handshake = socket instanceof TLSSocket ? describeHandshake(socket) : undefined
    const value = await work({ greeting, handshake, send, startTls })
    if (!socket.destroyed) socket.write('QUIT\r\n')
    return value
  } finally {
    socket.destroy()
  }
}

function openSocket({ host, port = 0, path, secureName, authorities = [] }: SmtpServerAddress): Socket {
  if (path !== undefined) return connect(path)
  if (secureName === undefined) return connect({ host, port })
  return connectTls({ host, port, servername: secureName, ...lenientTlsOptions(authorities) })
}

/** Returns options that accept any certificate, because a check judges it afterwards. */
function lenientTlsOptions(authorities: readonly string[]) {
  return { rejectUnauthorized: false, ca: [...getCACertificates('default'), ...authorities] }
}

async function upgradeToTls(socket: Socket, host: string, authorities: readonly string[]): Promise<Handshake> {
  socket.removeAllListeners('data')
  const secureSocket = connectTls({ socket, servername: host, ...lenientTlsOptions(authorities) })
  try {
    await awaitSecureConnection(secureSocket)
    return describeHandshake(secureSocket)
  } finally {
    secureSocket.destroy()
  }
}

/** Yields the replies. Throws if the socket fails. */
async function* readReplies(socket: Socket): AsyncGenerator<SmtpReply> {
  const failure = Promise.withResolvers<never>()
  socket.once('error', failure.reject)
  failure.promise.catch(() => undefined)
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  let reply: string[] = []
  for (;;) {
    const nextLine = await Promise.race([lines.next(), failure.promise])
    if (nextLine.done) return
    const [, code = '', separator = '', text = ''] = /^(\d{3})([- ]?)(.*)$/.exec(nextLine.value) ?? []
    reply.push(text)
    if (separator === '-') continue
    yield { code: Number(code), lines: reply }
    reply = []
  }
}

async function readReply(replies: AsyncGenerator<SmtpReply>): Promise<SmtpReply> {
  const { value, done } = await replies.next()
  if (done || !value) throw new Error('the server closed the connection')
  return value
}

function requireReply({ code, lines }: SmtpReply, expectedCode: number): readonly string[] {
  if (code !== expectedCode) throw new Error(`it says ${code} ${lines[0] ?? ''}`.trim())
  return lines
}

function parseExtension(line: string): [string, string] {
  const [name = '', ...parameters] = line.split(' ')
  return [name.toUpperCase(), parameters.join(' ')]
}
