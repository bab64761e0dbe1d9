// Leases ready work and runs it in a limited number of slots.
import type { PollEnd, PoolSlots, SlotOptions } from './concurrency.ts'
import { createSlots } from './concurrency.ts'

/** The options of a pool. `Held` is the part of the work that is known while a slot is reserved for it. */
export interface WorkPoolOptions<Work extends Held, Held = Work> extends SlotOptions<Work, Held> {
  /**
   * Leases up to `limit` pieces of ready work, and no more of each group than it has slots; `usedByGroup` has the numbers of filled slots.
   */
  lease(limit: number, usedByGroup: ReadonlyMap<string, number>): Promise<readonly Work[]>
  run(work: Work): Promise<void>
  /**
   * True if no other pool's work counts in its slots. A poll then finds all ready work, so another one follows only for a full group or a wake-up.
   */
  readonly countsAlone?: boolean | undefined
  onError(error: unknown): void
}

export interface WorkPool<Work extends Held, Held = Work> extends PoolSlots<Held> {
  /** Ends the poll that `beginPoll` began. Slots stay reserved for all leased work. */
  endPoll(end: PollEnd): void
  /** Frees a reserved slot in which no work begins, so that waiting work can use it. */
  releaseSlot(work: Held): void
  /** Polls for work soon; cheap to call often. */
  wake(): void
  readonly running: ReadonlyMap<Work, Promise<void>>
  /** Frees the slot of work that still runs, because only its result has to be stored. */
  freeSlot(work: Work): void
  /** Polls for work that waits for the slot of this slow work, if there may be any. */
  noteSlow(work: Work): void
  /** Begins leased work. `ticket` is the work for which a slot was reserved; default: the work itself. */
  begin(work: Work, ticket?: Held): void
  /** Resolves once no work runs and no lease in progress can start any. It is for closed pools. */
  drain(): Promise<void>
}

/** Creates a pool that runs up to `slots` pieces of ready work concurrently, and at most `groupSlots` of one group. */
export function createWorkPool<Work extends Held, Held = Work>(
  options: WorkPoolOptions<Work, Held>,
): WorkPool<Work, Held> {
  const running = new Map<Work, Promise<void>>()
  const slots = createSlots<Work, Held>(running, options)
  let mayFindMore = false

  /** Polls once. @returns true if another poll may find more */
  async function poll(): Promise<boolean> {
    const { limit, usedByGroup } = options.countsAlone ? slots.beginPoll() : slots.countCapacity()
    if (limit <= 0) return false
    mayFindMore = false
    const leasedWork = await options.lease(limit, usedByGroup).catch(error => {
      slots.noteFailedPoll()
      options.onError(error)
      return []
    })
    for (const work of leasedWork) begin(work)
    return leasedWork.length > 0 && (mayFindMore || leasedWork.length === limit)
  }

  const { wake, findPollInProgress } = createPolling(poll)

  function wakeIfWaiting(work: Work | Held): void {
    if (slots.hasWaiting(options.groupOf(work))) wake()
  }

  function begin(work: Work, ticket: Held = work): void {
    const isCounted = slots.release(ticket)
    const end = () => {
      running.delete(work)
      slots.noteEnd(work)
      wakeIfWaiting(work)
    }
    running.set(work, endAfter(options.run(work), { onError: options.onError, end }))
    slots.noteBegin(work)
    if (!isCounted) slots.noteIfFull(options.groupOf(work))
  }

  return {
    ...slots,
    running,
    wake,
    begin,
    endPoll(end) {
      mayFindMore = slots.notePoll(end)
    },
    releaseSlot(work) {
      if (slots.release(work)) wakeIfWaiting(work)
    },
    freeSlot(work) {
      if (slots.free(work)) wakeIfWaiting(work)
    },
    noteSlow: wakeIfWaiting,
    drain: () => drain({ running, findPollInProgress, countHeld: slots.countHeld }),
  }
}

interface WorkEnd {
  onError(error: unknown): void
  end(): void
}

/** Reports the error of work and ends it. `catch` and `finally` would make four promises instead of one. */
function endAfter(work: Promise<void>, { onError, end }: WorkEnd): Promise<void> {
  return work.then(end, (error: unknown) => {
    try {
      onError(error)
    } finally {
      end()
    }
  })
}

interface DrainDeps {
  readonly running: ReadonlyMap<unknown, Promise<void>>
  findPollInProgress(): Promise<void> | undefined
  countHeld(): number
}

async function drain({ running, findPollInProgress, countHeld }: DrainDeps): Promise<void> {
  while (findPollInProgress() || running.size > 0 || countHeld() > 0) {
    await Promise.all([findPollInProgress(), ...running.values(), countHeld() > 0 && sleepBriefly()])
  }
}

/** Polls for work when it is woken, until a poll finds no more. `poll` returns whether another one finds more. */
function createPolling(poll: () => Promise<boolean>) {
  let isScheduled = false
  let polling: Promise<void> | undefined
  let isWokenAgain = false

  async function pollUntilEmpty(): Promise<void> {
    do {
      isWokenAgain = false
      if (await poll()) isWokenAgain = true
    } while (isWokenAgain)
  }

  function endPolling(): void {
    polling = undefined
  }

  return {
    findPollInProgress: () => polling,
    // The delay lets one poll replace all pieces of work that end at the same moment.
    wake(): void {
      if (isScheduled) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        if (polling) isWokenAgain = true
        else polling = pollUntilEmpty().finally(endPolling)
      })
    },
  }
}

const drainPollMs = 10

function sleepBriefly(): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, drainPollMs).unref()
  })
}
