import type { LookEnd, PoolSlots, SlotOptions } from './work-slots.ts'
import { createSlots } from './work-slots.ts'

/** `Held`: what is known of work for which a slot is kept. */
export interface WorkPoolOptions<Work extends Held, Held = Work> extends SlotOptions<Work, Held> {
  /**
   * Leases up to `limit` pieces of ready work, and of each group only as many as fill its slots; `taken` of them are
   * filled.
   */
  lease(limit: number, taken: ReadonlyMap<string, number>): Promise<readonly Work[]>
  run(work: Work): Promise<void>
  /** No other pool's work counts in its slots: a look finds all that is ready. Then a pool looks no more, unless a group is full or it is woken. */
  readonly countsAlone?: boolean | undefined
  onError(error: unknown): void
}

export interface WorkPool<Work extends Held, Held = Work> extends PoolSlots<Held> {
  /** Ends what `lookForAll` has begun. Slots are kept for all that was leased. */
  endLook(end: LookEnd): void
  /** Nothing begins in a slot that was kept: what waits may have it. */
  letGo(work: Held): void
  /** Look for work soon; cheap to call often. */
  wake(): void
  readonly running: ReadonlyMap<Work, Promise<void>>
  /** Gives its slot to other work, though it runs on: what is left of it is to store its result. */
  freeSlot(work: Work): void
  /** `held`: what a slot was kept for; default: the work itself. */
  begin(work: Work, held?: Held): void
  /** Resolves when nothing runs and no lease in progress can start work. For a closed pool. */
  drain(): Promise<void>
}

/** Keeps `slots` pieces of work running for as long as there are any, and no more than `groupSlots` of one group. */
export function createWorkPool<Work extends Held, Held = Work>(
  options: WorkPoolOptions<Work, Held>,
): WorkPool<Work, Held> {
  const running = new Map<Work, Promise<void>>()
  const slots = createSlots<Work, Held>(running, options)
  let hasMore = false

  function endFailedLook(error: unknown): readonly Work[] {
    slots.noteFailedLook()
    options.onError(error)
    return []
  }

  /** @returns whether another look finds more */
  async function look(): Promise<boolean> {
    const { limit, taken } = options.countsAlone ? slots.lookForAll() : slots.countRoom()
    if (limit <= 0) return false
    hasMore = false
    const leased = await options.lease(limit, taken).catch(endFailedLook)
    for (const work of leased) begin(work)
    return leased.length > 0 && (hasMore || leased.length === limit)
  }

  const { wake, untilFilled } = createFilling(look)

  function wakeIfBehind(work: Held): void {
    if (slots.isBehind(options.groupOf(work))) wake()
  }

  function begin(work: Work, place: Held = work): void {
    const isCounted = slots.release(place)
    const finished = options
      .run(work)
      .catch(options.onError)
      .finally(() => {
        running.delete(work)
        slots.forget(work)
        wakeIfBehind(work)
      })
    running.set(work, finished)
    if (!isCounted) slots.noteIfFull(options.groupOf(work))
  }

  return {
    ...slots,
    running,
    wake,
    begin,
    endLook(end) {
      hasMore = slots.noteLook(end)
    },
    letGo(work) {
      if (slots.release(work)) wakeIfBehind(work)
    },
    freeSlot(work) {
      if (slots.free(work)) wakeIfBehind(work)
    },
    drain: () => drain({ running, untilFilled, countHeld: slots.countHeld }),
  }
}

interface Draining {
  readonly running: ReadonlyMap<unknown, Promise<void>>
  untilFilled(): Promise<void> | undefined
  countHeld(): number
}

async function drain({ running, untilFilled, countHeld }: Draining): Promise<void> {
  while (untilFilled() || running.size > 0 || countHeld() > 0) {
    await Promise.all([untilFilled(), ...running.values(), countHeld() > 0 && soon()])
  }
}

/** Looks for work when it is woken, until a look finds no more. `look`: says whether another one finds more. */
function createFilling(look: () => Promise<boolean>) {
  let isScheduled = false
  let filling: Promise<void> | undefined
  let isWokenAgain = false

  async function fill(): Promise<void> {
    do {
      isWokenAgain = false
      if (await look()) isWokenAgain = true
    } while (isWokenAgain)
  }

  function endFilling(): void {
    filling = undefined
  }

  return {
    untilFilled: () => filling,
    // Pieces of work that end in the same instant are replaced by one claim, not by many.
    wake(): void {
      if (isScheduled) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        if (filling) isWokenAgain = true
        else filling = fill().finally(endFilling)
      })
    },
  }
}

/** Counts by key; of none nothing is kept. */
export function addTo<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + by
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}

const soonMs = 10

function soon(): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, soonMs).unref()
  })
}

/** Runs `work` when nothing that was begun before it runs under this key. */
type RunOneByOne = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** What has one key runs one at a time, in the order in which it came, also after a failure; what has another does not wait for it. */
export function createOneByOne(): RunOneByOne {
  const last = new Map<string, Promise<unknown>>()
  return async function runOneByOne(key, work) {
    const before = last.get(key)
    const run = before ? before.then(work, work) : work()
    last.set(key, run)
    try {
      return await run
    } finally {
      if (last.get(key) === run) last.delete(key)
    }
  }
}
