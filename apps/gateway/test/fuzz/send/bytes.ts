import { connect } from 'node:net'

interface ByteExchange {
  readonly port: number
  readonly bytes: Buffer
  /** Wait for a first line before anything is said. */
  readonly waitsForGreeting?: boolean
  /** Nothing follows what is said: at once, or after a while in which an honest exchange ends by itself. */
  readonly ends: boolean | 'later'
  /** True once enough has been read. */
  isEnough(read: Buffer): boolean
  readonly signal: AbortSignal
}

const laterMs = 2_000
const mostBytes = 256 * 1024

/** Says the bytes on a connection of its own; what was answered until it was enough or the far side closed. */
export function sendBytes({ port, bytes, waitsForGreeting, ends, isEnough, signal }: ByteExchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const read: Buffer[] = []
    let size = 0
    const say = () => {
      socket.write(bytes)
      if (ends === true) socket.end()
      if (ends === 'later') setTimeout(() => socket.end(), laterMs)
    }
    const finish = () => {
      socket.destroy()
      resolve(Buffer.concat(read))
    }
    if (!waitsForGreeting) socket.once('connect', say)
    socket.on('data', chunk => {
      if (waitsForGreeting && size === 0) say()
      size += chunk.length
      read.push(chunk)
      if (size > mostBytes || isEnough(Buffer.concat(read))) finish()
    })
    // Whoever is refused before everything was read may be cut off.
    socket.on('error', finish)
    socket.on('end', finish)
    socket.on('close', finish)
    signal.addEventListener('abort', () => {
      socket.destroy()
      reject(new Error('no answer'))
    })
  })
}
