// Parses mail in a pool of worker threads, and replaces threads that die or hang.
import { Worker } from 'node:worker_threads'
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { MailLimits } from '../config/limits.ts'
import type { MimeJob, MimeResult } from '../mime/job.ts'
import { copyToOwnMemory } from '../mime/job.ts'
import type { MimeReply } from './worker.ts'

export type MimePool = ReturnType<typeof createMimePool>

interface PoolOptions extends Pick<PoolState, 'limits' | 'system'> {
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

const workerFile = new URL('./worker-thread.mjs', import.meta.url)

/**
 * Creates the worker threads that parse untrusted mail. They start with the first message, and a thread that dies is
 * replaced.
 */
export function createMimePool({ limits, system, file = workerFile }: PoolOptions) {
  const slots = Array.from({ length: limits.parsers }, () => ({ worker: undefined, batch: [], rounds: 0 }))
  const queue: ParseTask[] = []
  const shutdown = new AbortController()
  const pool: PoolState = { limits, system, file, slots, queue, shutdown, isWatched: false, isFilling: false }
  return {
    /**
     * Runs a job and returns its result. It returns undefined if the thread died or timed out, and did so again when
     * the message ran alone.
     * @throws Unavailable if too many messages wait already
     */
    run(job: MimeJob, sender: MailSender = {}): Promise<MimeResult | undefined> {
      if (shutdown.signal.aborted || queue.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const rejectAtShutdown = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        const settle: ParseTask['settle'] = result =>
          shutdown.signal.aborted && !result ? rejectAtShutdown() : resolve(result)
        queue.push({ job, ...sender, isSuspect: false, settle })
        fillSlotsSoon(pool)
      })
    },
    async close(): Promise<void> {
      shutdown.abort()
      for (const task of queue.splice(0)) task.settle(undefined)
      await Promise.all(pool.slots.map(slot => slot.worker?.terminate()))
    },
  }
}

/** The facts about the sender of a message that are known before the message is parsed. */
export interface MailSender {
  /** The network that the message came from. Messages of one network occupy one thread at a time. */
  readonly network?: string | undefined
  /** True if evidence already proves the author. */
  readonly isProven?: boolean | undefined
}

interface ParseTask extends MailSender {
  readonly job: MimeJob
  /**
   * True if the thread of the message died or hung. The message then runs once more and alone, so that only the message
   * that caused this is lost.
   */
  readonly isSuspect: boolean
  readonly settle: (result: MimeResult | undefined) => void
}

/** One thread and the batch in it. */
interface WorkerSlot {
  worker: Worker | undefined
  batch: readonly ParseTask[]
  /** The rounds of the watch since the batch began, or since the thread became idle. */
  rounds: number
}

/** The state of a pool: its threads, and the messages that wait for one. */
interface PoolState {
  readonly limits: MailLimits
  readonly system: Pick<System, 'sleep' | 'log'>
  readonly file: URL
  readonly slots: readonly WorkerSlot[]
  readonly queue: ParseTask[]
  readonly shutdown: AbortController
  isWatched: boolean
  isFilling: boolean
}

/** The rounds of the watch that a batch may run, and that a further thread may be idle. */
const roundsPerBatch = 10
/** The maximum numbers of messages and octets in a batch. Waking a thread costs as much as reading a small message. */
const [maxBatchTasks, maxBatchOctets] = [16, 256 * 1024]

function startWorker(pool: PoolState, slot: WorkerSlot): Worker {
  const { limits, system, file } = pool
  const resourceLimits = { maxOldGenerationSizeMb: limits.parse_memory_mb }
  const worker = new Worker(file, { resourceLimits, workerData: limits })
  const handleExit = (error?: unknown) => {
    if (slot.worker !== worker) return
    if (error) system.log.warn({ err: error }, 'a mail parser died')
    loseWorker(pool, slot)
  }
  worker.on('message', (replies: readonly MimeReply[]) => slot.worker === worker && settleBatch(pool, slot, replies))
  worker.on('error', handleExit)
  worker.on('exit', () => handleExit())
  return worker
}

function settleBatch(pool: PoolState, slot: WorkerSlot, replies: readonly MimeReply[]): void {
  const { log } = pool.system
  const { batch } = slot
  slot.batch = []
  slot.rounds = 0
  slot.worker?.unref()
  for (const [index, task] of batch.entries()) {
    const reply = replies[index]
    if (reply && 'error' in reply) log.warn({ error: reply.error }, 'a message could not be parsed')
    task.settle(reply && 'result' in reply ? reply.result : undefined)
  }
  fillSlots(pool)
}

/**
 * Gives each message of a lost thread one more attempt, alone. A message whose second thread also dies has caused it,
 * and gets no result.
 */
function loseWorker(pool: PoolState, slot: WorkerSlot): void {
  const { queue, shutdown } = pool
  const { batch } = slot
  slot.worker = undefined
  slot.batch = []
  const isLost = ({ isSuspect }: ParseTask) => isSuspect || shutdown.signal.aborted
  for (const task of batch.filter(isLost)) task.settle(undefined)
  queue.unshift(...batch.filter(task => !isLost(task)).map(task => ({ ...task, isSuspect: true })))
  fillSlots(pool)
}

/** Starts waiting jobs after this turn of the event loop, so that messages which arrive together share a batch. */
function fillSlotsSoon(pool: PoolState): void {
  if (pool.isFilling) return
  pool.isFilling = true
  setImmediate(() => {
    pool.isFilling = false
    fillSlots(pool)
  })
}

function fillSlots(pool: PoolState): void {
  const { slots, queue, shutdown } = pool
  for (const slot of slots) {
    if (shutdown.signal.aborted || slot.batch.length > 0 || queue.length === 0) continue
    if (!needsFurtherThread(slots)) break
    const batch = dequeueBatch(pool)
    if (batch.length === 0) break
    slot.batch = batch
    slot.rounds = 0
    slot.worker ??= startWorker(pool, slot)
    slot.worker.ref()
    slot.worker.postMessage(slot.batch.map(({ job }) => ({ ...job, octets: copyToOwnMemory(job.octets) })))
  }
  void watchSlots(pool)
}

/**
 * Ends threads that take too long or are idle. All threads share one timer, because a timer for each message would cost
 * more.
 */
async function watchSlots(pool: PoolState): Promise<void> {
  const { slots, shutdown, system, limits } = pool
  if (pool.isWatched) return
  pool.isWatched = true
  while (slots.some(slot => isWatchable(pool, slot)) && !shutdown.signal.aborted) {
    await system.sleep(limits.parse_timeout_ms / roundsPerBatch, shutdown.signal)
    for (const slot of slots) await checkSlot(pool, slot)
    fillSlots(pool)
  }
  pool.isWatched = false
}

/**
 * Returns true if the watch must check a thread: it has a batch, or it is idle and not the first thread. The first
 * thread never ends, because the next message would wait for a new thread.
 */
function isWatchable({ slots }: PoolState, slot: WorkerSlot): boolean {
  return slot.batch.length > 0 || (slot.worker !== undefined && slot !== slots[0])
}

async function checkSlot(pool: PoolState, slot: WorkerSlot): Promise<void> {
  const { system, limits } = pool
  slot.rounds += 1
  if (!isWatchable(pool, slot) || slot.rounds <= roundsPerBatch) return
  const { worker, batch } = slot
  if (batch.length > 0) system.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
  loseWorker(pool, slot)
  await worker?.terminate()
}

/** Removes the next messages for one thread from the queue: several small messages, or one large or suspect message. */
function dequeueBatch({ slots, queue }: PoolState): readonly ParseTask[] {
  const activeNetworks = new Set(slots.flatMap(({ batch }) => batch.map(({ network }) => network)))
  const readyTasks = queue.filter(({ network }) => network === undefined || !activeNetworks.has(network))
  // A suspect message of an unproven author may kill another thread, so it waits until no other message waits.
  const firstTask = readyTasks.find(({ isSuspect, isProven }) => !isSuspect || isProven) ?? readyTasks[0]
  const batch = firstTask?.isSuspect ? [firstTask] : limitBatch(readyTasks.filter(({ isSuspect }) => !isSuspect))
  const batchTasks = new Set(batch)
  queue.splice(0, queue.length, ...queue.filter(task => !batchTasks.has(task)))
  return batch
}

function limitBatch(tasks: readonly ParseTask[]): readonly ParseTask[] {
  let octets = 0
  const end = tasks.findIndex(({ job }, index) => {
    octets += job.octets.length
    return index > 0 && (index >= maxBatchTasks || octets > maxBatchOctets)
  })
  return tasks.slice(0, end < 0 ? tasks.length : end)
}

/**
 * Returns true if a further thread may start. A thread takes 40 to 60 MB, and two threads on few cores slow each other
 * down. So another thread starts only if every running thread has parsed its batch for more than one round of the
 * watch. A slow mail delays other mail no longer than that.
 */
function needsFurtherThread(slots: readonly WorkerSlot[]): boolean {
  return slots.every(({ batch, rounds }) => batch.length === 0 || rounds > 1)
}
