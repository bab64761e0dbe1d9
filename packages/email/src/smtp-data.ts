import type { World } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'

/** Reads messages from clients that all send at a time. */
export interface DataReader {
  /**
   * Reads one message to its end, whatever happens, because the reply comes after it, and hands it on. What must not go on to
   * its end is cut off by `cut`.
   * @throws Rejection `too_large`
   * @throws Unavailable when all that is being read or judged now is more than may be held
   */
  read<T>(
    stream: AsyncIterable<Uint8Array>,
    take: (octets: Uint8Array) => Promise<T>,
    cut: (error: unknown) => void,
  ): Promise<T>
}

export interface DataLimits {
  /** Octets of one message. */
  readonly maxBytes: number
  /** Octets of all messages together; one alone may always be as large as it may. */
  readonly maxHeld: number
  readonly sleep: World['sleep']
  /** Until the last octet of a message, ms. */
  readonly transferMs: number
}

/** A chunk may be one octet, and each costs a hundred to keep: so many become one. */
const gathered = 512
/**
 * The parser makes a piece of its own of every line that begins with a dot and takes a turn of the event loop for it: 25 MB of
 * them take it a third of a minute. A text of a hundred thousand such lines is nobody's.
 */
const maxPieces = 100_000

interface Receiving {
  octets: number
  pieces: number
  /** Why it is cut off: whatever of it still comes is nothing. */
  fault?: Rejection | Unavailable
}

export function createDataReader({ maxBytes, maxHeld, sleep, transferMs }: DataLimits): DataReader {
  let held = 0

  /** How many octets are held for it grows with what comes and is counted in `mine`. */
  async function collect(
    stream: AsyncIterable<Uint8Array>,
    mine: Receiving,
    cut: (fault: Rejection | Unavailable) => void,
  ): Promise<Uint8Array> {
    const collection = createCollection()
    let size = 0
    let isCrowded = false
    for await (const chunk of stream) {
      size += chunk.length
      mine.pieces += 1
      if (mine.pieces === maxPieces) cut(new Rejection('malformed', 'Cannot accept mail: it comes in too many pieces'))
      isCrowded ||= held > mine.octets && held + chunk.length > maxHeld
      if (isCrowded || size > maxBytes || mine.fault) {
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

  async function collectInTime(
    stream: AsyncIterable<Uint8Array>,
    mine: Receiving,
    cut: (error: unknown) => void,
  ): Promise<Uint8Array> {
    const arrived = new AbortController()
    const stop = (fault: Rejection | Unavailable) => {
      mine.fault = fault
      cut(fault)
    }
    const expire = async () => {
      await sleep(transferMs, arrived.signal)
      if (!arrived.signal.aborted) stop(new Unavailable('Cannot accept mail: it came too slowly'))
    }
    void expire()
    try {
      const octets = await collect(stream, mine, stop)
      if (mine.fault) throw mine.fault
      return octets
    } finally {
      arrived.abort()
    }
  }

  return {
    async read(stream, take, cut) {
      const mine: Receiving = { octets: 0, pieces: 0 }
      try {
        return await take(await collectInTime(stream, mine, cut))
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
