import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { connect as connectTls } from 'node:tls'

export interface SmtpServerAddress {
  readonly host: string
  readonly port?: number | undefined
  /** A socket in the file system instead. */
  readonly path?: string | undefined
  readonly protocol?: 'smtp' | 'lmtp' | undefined
  /** TLS from the first byte. */
  readonly secure?: boolean | undefined
}

/** What a mail server says of itself. */
interface Greeting {
  /** Its first line. */
  readonly banner: string
  /** RFC 5321 §4.1.1.1, upper case: `SIZE` → `10240000`. */
  readonly extensions: ReadonlyMap<string, string>
}

const patienceMs = 5_000

/** Greets and leaves again. @throws Error when it does not answer, or not as a mail server does */
export async function readGreeting(server: SmtpServerAddress, name: string): Promise<Greeting> {
  const socket = open(server)
  socket.setTimeout(patienceMs, () => socket.destroy(new Error('it does not answer in time')))
  try {
    const replies = readReplies(socket)
    const banner = await nextReply(replies, '220')
    socket.write(`${server.protocol === 'lmtp' ? 'LHLO' : 'EHLO'} ${name}\r\n`)
    const [, ...lines] = await nextReply(replies, '250')
    socket.write('QUIT\r\n')
    return { banner: banner[0] ?? '', extensions: new Map(lines.map(splitLine)) }
  } finally {
    socket.destroy()
  }
}

function open({ host, port = 0, path, secure }: SmtpServerAddress): Socket {
  if (path !== undefined) return connect(path)
  return secure ? connectTls({ host, port, servername: host }) : connect({ host, port })
}

/** Replies as they come, each as its lines without the code; an error of the socket ends them. */
async function* readReplies(socket: Socket): AsyncGenerator<{ readonly code: string; readonly lines: string[] }> {
  const failed = Promise.withResolvers<never>()
  socket.once('error', failed.reject)
  failed.promise.catch(() => undefined)
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  let reply: string[] = []
  for (;;) {
    const next = await Promise.race([lines.next(), failed.promise])
    if (next.done) return
    const [, code = '', mark = '', text = ''] = /^(\d{3})([- ]?)(.*)$/.exec(next.value) ?? []
    reply.push(text)
    if (mark === '-') continue
    yield { code, lines: reply }
    reply = []
  }
}

async function nextReply(replies: ReturnType<typeof readReplies>, expected: string): Promise<readonly string[]> {
  const { value, done } = await replies.next()
  if (done || !value) throw new Error('it hangs up')
  if (value.code !== expected) throw new Error(`it says ${value.code} ${value.lines[0] ?? ''}`.trim())
  return value.lines
}

function splitLine(line: string): [string, string] {
  const [name = '', ...rest] = line.split(' ')
  return [name.toUpperCase(), rest.join(' ')]
}
