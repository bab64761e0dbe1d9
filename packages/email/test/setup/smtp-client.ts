// Speaks SMTP line by line.
import { once } from 'node:events'
import { connect } from 'node:net'

/** A client that speaks SMTP line by line, so that a test sees every reply. */
export interface SmtpClient {
  /** Sends one line (or raw text with its line ends) and resolves with the next complete reply. */
  say(line: string): Promise<string>
  write(text: string): void
  /** Reads the next complete reply. */
  read(): Promise<string>
  /** Resolves once the server has closed the connection. */
  readonly closed: Promise<unknown>
  end(): void
}

/** Opens a client. `address` is a port, or the path of a socket. */
export async function openSmtpClient(address: number | string): Promise<SmtpClient> {
  const socket = typeof address === 'string' ? connect(address) : connect(address, '127.0.0.1')
  const closed = once(socket, 'close')
  const waiting: ((reply: string) => void)[] = []
  const replies: string[] = []
  let buffered = ''
  const hand = (reply: string) => {
    const next = waiting.shift()
    if (next) next(reply)
    else replies.push(reply)
  }
  socket.on('error', () => undefined)
  socket.on('data', chunk => {
    buffered += chunk.toString('latin1')
    for (let match = complete.exec(buffered); match; match = complete.exec(buffered)) {
      buffered = buffered.slice(match[0].length)
      hand(match[0].trimEnd())
    }
  })
  const read = () =>
    new Promise<string>(resolve => {
      const reply = replies.shift()
      if (reply === undefined) waiting.push(resolve)
      else resolve(reply)
    })
  const write = (text: string) => void socket.write(text, 'latin1')
  await once(socket, 'connect')
  return {
    read,
    write,
    say(line) {
      write(`${line}\r\n`)
      return read()
    },
    closed,
    end: () => void socket.destroy(),
  }
}

const complete = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3} [^\r\n]*\r\n/
