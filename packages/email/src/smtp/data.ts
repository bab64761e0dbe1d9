// Reads the octets of one message after DATA, within limits on size, time and memory.
import type { BodyReservation, System } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'

interface ReadDataOptions {
  /** The memory budget of the message. The caller releases it. */
  readonly memoryBudget: BodyReservation
  readonly maxBytes: number
  /** The longest time for the whole message, ms. */
  readonly transferMs: number
  readonly sleep: System['sleep']
  /** Closes the connection in the middle of the message. */
  closeConnection(error: unknown): void
}

/**
 * The period for measuring the pace of a client, ms, and the minimum number of octets in a period. The gateway
 * disconnects a client that sends less than this 1 KB a second.
 */
const [pacePeriodMs, minBytesPerPeriod] = [60_000, 60 * 1000]
/** The longest wait of a message for memory, ms. It is below the three minutes that a client waits for the gateway. */
const maxMemoryWaitMs = 120_000
/**
 * The multiple of the size limit up to which a message is read and discarded, so that its client gets the reason. Above
 * it, the gateway disconnects the client.
 */
const maxDiscardFactor = 4

/**
 * Reads one message. While the message waits for memory, nothing more is read. A stopped message frees its memory at once, and its connection is
 * closed.
 * @throws Rejection `too_large`, `malformed`, `rate_limited`
 * @throws Unavailable if there is no memory in time, or the client is too slow
 */
export async function readData(stream: AsyncIterable<Uint8Array>, options: ReadDataOptions): Promise<Uint8Array> {
  const { promise: stopPromise, reject } = Promise.withResolvers<never>()
  stopPromise.catch(() => undefined)
  const endController = new AbortController()
  const reception: DataReception = {
    ...options,
    collection: createCollection(),
    endSignal: endController.signal,
    size: 0,
    isWaiting: false,
    hasWaited: false,
    stop(error) {
      if (endController.signal.aborted) return
      endController.abort()
      reception.collection.clear()
      options.memoryBudget.release()
      options.closeConnection(error)
      reject(error)
    },
  }
  void stopAtDeadline(reception)
  void stopIfSlow(reception)
  try {
    return await Promise.race([collectOctets(stream, reception), stopPromise])
  } finally {
    endController.abort()
  }
}

interface DataReception extends ReadDataOptions {
  readonly collection: ReturnType<typeof createCollection>
  /** A signal that is aborted at the end of the message. */
  readonly endSignal: AbortSignal
  stop(error: unknown): void
  /** The number of octets so far. */
  size: number
  /** True while the message waits for memory, when nothing is read. */
  isWaiting: boolean
  /** True if the message has waited for memory since its pace was last checked. */
  hasWaited: boolean
}

async function stopAtDeadline({ transferMs, sleep, endSignal, stop }: DataReception): Promise<void> {
  await sleep(transferMs, endSignal)
  if (!endSignal.aborted) stop(new Unavailable('Cannot accept mail: it came too slowly'))
}

async function stopIfSlow(reception: DataReception): Promise<void> {
  const { sleep, endSignal, stop } = reception
  while (!endSignal.aborted) {
    const previousSize = reception.size
    reception.hasWaited = reception.isWaiting
    await sleep(pacePeriodMs, endSignal)
    const isSlow = reception.size - previousSize < minBytesPerPeriod && !reception.hasWaited
    if (!endSignal.aborted && isSlow)
      stop(new Unavailable('Cannot accept mail: slower than 1 KB a second for a minute'))
  }
}

/**
 * The maximum number of chunks. The parser emits every line that begins with a dot as its own chunk, in its own turn of
 * the event loop. For 25 MB of such lines, the parser needs twenty seconds. No honest text has a hundred thousand such
 * lines.
 */
const maxChunks = 100_000

async function collectOctets(stream: AsyncIterable<Uint8Array>, reception: DataReception): Promise<Uint8Array> {
  const { maxBytes, memoryBudget, collection, endSignal, stop } = reception
  const createTooLargeRejection = () => new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
  let chunkCount = 0
  for await (const chunk of readChunks(stream)) {
    reception.size += chunk.length
    chunkCount += 1
    if (chunkCount === maxChunks) stop(new Rejection('malformed', 'Cannot accept mail: it comes in too many pieces'))
    if (reception.size > maxBytes * maxDiscardFactor) stop(createTooLargeRejection())
    if (reception.size > maxBytes) {
      collection.clear()
      memoryBudget.release()
    } else await acquireMemory(chunk.length, reception)
    if (endSignal.aborted) break
    if (reception.size <= maxBytes) collection.add(chunk)
  }
  if (reception.size > maxBytes) throw createTooLargeRejection()
  return collection.join()
}

/**
 * Yields the chunks of a stream. If the client disconnects in the middle, the error is a Rejection, and not an internal
 * error.
 */
async function* readChunks(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* stream
  } catch (cause) {
    throw new Rejection('malformed', 'Cannot accept mail: the connection was cut', { cause })
  }
}

/** Waits until there is memory for the octets, and stops the message if that takes too long. */
async function acquireMemory(bytes: number, reception: DataReception): Promise<void> {
  const { memoryBudget, sleep, endSignal, stop } = reception
  try {
    return memoryBudget.add(bytes)
  } catch {
    const timeout = new AbortController()
    const waitSignal = AbortSignal.any([endSignal, timeout.signal])
    void sleep(maxMemoryWaitMs, waitSignal).then(() => timeout.abort())
    reception.isWaiting = true
    reception.hasWaited = true
    await memoryBudget.acquire(bytes, waitSignal).catch(stop)
    reception.isWaiting = false
    timeout.abort()
  }
}

/** The number of chunks that are joined into one. A chunk may be a single octet, and each chunk costs a hundred octets of memory. */
const chunksPerJoin = 512

function createCollection() {
  let chunks: Uint8Array[] = []
  let recentChunks: Uint8Array[] = []
  return {
    add(chunk: Uint8Array): void {
      if (recentChunks.push(chunk) < chunksPerJoin) return
      chunks.push(Buffer.concat(recentChunks))
      recentChunks = []
    },
    clear(): void {
      chunks = []
      recentChunks = []
    },
    join: () => Buffer.concat([...chunks, ...recentChunks]),
  }
}
