// Sends bytes on a new connection, and reads the answer.
import { connect } from 'node:net'

interface ByteExchange {
  readonly port: number
  readonly bytes: Buffer
  /** True if the client sends only after the server's greeting. */
  readonly waitsForGreeting?: boolean
  /**
   * True if the client ends its side at once. With `later`, it ends its side after a while, because an honest server has closed the connection by
   * then.
   */
  readonly ends: boolean | 'later'
  /** Returns true once enough has been read. */
  isComplete(receivedBytes: Buffer): boolean
  readonly signal: AbortSignal
}

const endDelayMs = 2_000
const maxAnswerBytes = 256 * 1024

/** Sends the bytes on a connection of its own. Returns the answer until it was enough or the server closed the connection. */
export function sendBytes({ port, bytes, waitsForGreeting, ends, isComplete, signal }: ByteExchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const chunks: Buffer[] = []
    let size = 0
    const writeBytes = () => {
      socket.write(bytes)
      if (ends === true) socket.end()
      if (ends === 'later') setTimeout(() => socket.end(), endDelayMs)
    }
    const finish = () => {
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    if (!waitsForGreeting) socket.once('connect', writeBytes)
    socket.on('data', chunk => {
      if (waitsForGreeting && size === 0) writeBytes()
      size += chunk.length
      chunks.push(chunk)
      if (size > maxAnswerBytes || isComplete(Buffer.concat(chunks))) finish()
    })
    // The server may reset a connection that it refused before it read everything.
    socket.on('error', finish)
    socket.on('end', finish)
    socket.on('close', finish)
    signal.addEventListener('abort', () => {
      socket.destroy()
      reject(new Error('no answer'))
    })
  })
}
