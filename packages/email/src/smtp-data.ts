import { Rejection, Unavailable } from '@postern/core'

/** Reads messages from clients that all send at a time. */
export interface DataReader {
  /**
   * Reads one message to its end, whatever happens, because the reply comes after it, and hands it on.
   * @throws Rejection `too_large`
   * @throws Unavailable when all that is being read or judged now is more than may be held
   */
  read<T>(stream: AsyncIterable<Uint8Array>, take: (octets: Uint8Array) => Promise<T>): Promise<T>
}

export interface DataLimits {
  /** Octets of one message. */
  readonly maxBytes: number
  /** Octets of all messages together; one alone may always be as large as it may. */
  readonly maxHeld: number
}

/** A chunk may be one octet, and each costs a hundred to keep: so many become one. */
const gathered = 512

export function createDataReader({ maxBytes, maxHeld }: DataLimits): DataReader {
  let held = 0

  /** How many octets are held for it grows with what comes and is counted in `mine`. */
  async function collect(stream: AsyncIterable<Uint8Array>, mine: { octets: number }): Promise<Uint8Array> {
    const collection = createCollection()
    let size = 0
    let isCrowded = false
    for await (const chunk of stream) {
      size += chunk.length
      isCrowded ||= held > mine.octets && held + chunk.length > maxHeld
      if (isCrowded || size > maxBytes) {
        collection.clear()
        continue
      }
      held += chunk.length
      mine.octets += chunk.length
      collection.add(chunk)
    }
    if (size > maxBytes) throw new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
    if (isCrowded) throw new Unavailable('Cannot accept mail: too much comes at once', { retryAfter: 30 })
    return collection.join()
  }

  return {
    async read(stream, take) {
      const mine = { octets: 0 }
      try {
        return await take(await collect(stream, mine))
      } finally {
        held -= mine.octets
      }
    },
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
