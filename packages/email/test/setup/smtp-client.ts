// Speaks SMTP line by line.
import { once } from 'node:events'
import { connect } from 'node:net'

/** A client that speaks SMTP line by line, so that a test sees every reply. */
export interface SmtpClient {
  /** Sends one line (or raw text with its line ends) and resolves with the next complete reply. */
  sendLine(line: string): Promise<string>
  sendText(text: string): void
  /** Reads the next complete reply. */
  readReply(): Promise<string>
  /** Resolves once the server has closed the connection. */
  readonly closed: Promise<unknown>
  end(): void
}

/** Opens a client. `address` is a port, or the path of a socket. */
export async function openSmtpClient(address: number | string): Promise<SmtpClient> {
  const socket = typeof address === 'string' ? connect(address) : connect(address, '127.0.0.1')
  const closed = once(socket, 'close')
  const pendingReads: ((reply: string) => void)[] = []
  const replies: string[] = []
  let receivedText = ''
  const passReply = (reply: string) => {
    const next = pendingReads.shift()
    if (next) next(reply)
    else replies.push(reply)
  }
  socket.on('error', () => undefined)
  socket.on('data', chunk => {
    receivedText += chunk.toString('latin1')
    for (let match = replyPattern.exec(receivedText); match; match = replyPattern.exec(receivedText)) {
      receivedText = receivedText.slice(match[0].length)
      passReply(match[0].trimEnd())
    }
  })
  const read = () =>
    new Promise<string>(resolve => {
      const reply = replies.shift()
      if (reply === undefined) pendingReads.push(resolve)
      else resolve(reply)
    })
  const write = (text: string) => void socket.write(text, 'latin1')
  await once(socket, 'connect')
  return {
    readReply: read,
    sendText: write,
    sendLine(line) {
      write(`${line}\r\n`)
      return read()
    },
    closed,
    end: () => void socket.destroy(),
  }
}

const replyPattern = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3} [^\r\n]*\r\n/
