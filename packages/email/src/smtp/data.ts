import type { ByteBudget, ByteHold, Platform } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'

/** Reads messages from clients that all send at a time. */
interface DataReader {
  /**
   * Reads one message of a peer, known by its network, to its end in any case, because the reply comes after it; then
   * hands it on. `cut` ends a message that must not continue.
   * @throws Rejection `too_large`
   * @throws Rejection `rate_limited`, Unavailable when all messages in progress exceed the byte budget
   */
  read<T>(
    stream: AsyncIterable<Uint8Array>,
    peer: string,
    take: (octets: Uint8Array) => Promise<T>,
    cut: (error: unknown) => void,
  ): Promise<T>
}

interface DataLimits {
  /** Octets of one message. */
  readonly maxBytes: number
  /** Of all messages together. */
  readonly bodies: ByteBudget
  readonly sleep: Platform['sleep']
  /** Until the last octet of a message, ms. */
  readonly transferMs: number
}

/** A chunk may be one octet, and each costs a hundred to keep: so many become one. */
const gathered = 512
/**
 * The parser makes a piece of its own of every line that begins with a dot, and spends a turn of the event loop on it.
 * 25 MB of them take it a third of a minute. No honest text has a hundred thousand such lines.
 */
const maxPieces = 100_000

interface Receiving {
  readonly hold: ByteHold
  pieces: number
  /** The reason for the cut; the rest of the message is discarded. */
  fault?: Rejection | Unavailable
}

export function createDataReader({ maxBytes, bodies, sleep, transferMs }: DataLimits): DataReader {
  /** The held budget grows with the received bytes. */
  async function collect(
    stream: AsyncIterable<Uint8Array>,
    mine: Receiving,
    cut: (fault: Rejection | Unavailable) => void,
  ): Promise<Uint8Array> {
    const collection = createCollection()
    let size = 0
    let crowded: unknown
    for await (const chunk of stream) {
      size += chunk.length
      mine.pieces += 1
      if (mine.pieces === maxPieces) cut(new Rejection('malformed', 'Cannot accept mail: it comes in too many pieces'))
      crowded ??= findFault(() => mine.hold.add(chunk.length))
      if (crowded || size > maxBytes || mine.fault) collection.clear()
      else collection.add(chunk)
    }
    if (size > maxBytes) throw new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
    if (crowded) throw crowded
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
    async read(stream, peer, take, cut) {
      const mine: Receiving = { hold: bodies.hold(peer), pieces: 0 }
      try {
        return await take(await collectInTime(stream, mine, cut))
      } finally {
        mine.hold.release()
      }
    },
  }
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
