/** `Held`: what is known of work for which a slot is kept. */
export interface WorkPoolOptions<Work extends Held, Held = Work> {
  /** How much runs at once. */
  readonly slots: number
  groupOf(work: Held): string | undefined
  /** How much of a group runs at once; default: any number. */
  groupSlots?(group: string): number
  /**
   * Leases up to `limit` pieces of ready work, and of each group only as many as fill its slots; `taken` of them are
   * filled.
   */
  lease(limit: number, taken: ReadonlyMap<string, number>): Promise<readonly Work[]>
  run(work: Work): Promise<void>
  /** No other pool's work counts in its slots: a look finds all that is ready. Then a pool looks no more, unless a group is full or it is woken. */
  readonly countsAlone?: boolean | undefined
  /** Waiting work uses no slot. When it continues, more may run than there are slots. */
  isWaiting?(work: Work): boolean
  isClosed(): boolean
  onError(error: unknown): void
}

interface Room {
  /** Slots that are free. */
  readonly limit: number
  /** How many each group fills. */
  readonly taken: ReadonlyMap<string, number>
}

/** What has come of a look. */
interface LookEnd {
  /** How much was leased. */
  readonly found: number
  /** How many slots of each group others fill. */
  readonly elsewhere: ReadonlyMap<string, number>
}

/** What a store asks that leases work before anybody has asked it. */
interface PoolSlots<Held> {
  /** Whether this work may begin now: it finds a free slot and overtakes nothing that waits for one. */
  hasRoom(work: Held): boolean
  /**
   * All that is ready is leased now, as far as there are slots. `isBeside`: other work is leased meanwhile. Then the look has a part of the free slots,
   * which are its own until `endLook`.
   */
  lookForAll(isBeside?: boolean): Room
  /** Keeps a slot for leased work until it begins. */
  hold(work: Held): void
  letGo(work: Held): void
}

export interface WorkPool<Work extends Held, Held = Work> extends PoolSlots<Held> {
  /** Ends what `lookForAll` has begun. Slots have to be kept for all that was leased. */
  endLook(end: LookEnd): void
  /** Slots of a group that are free. */
  countFree(group: string): number
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
  const held = new Set<Held>()
  const freed = new Set<Work>()
  const isWaiting = (work: Work) => freed.has(work) || options.isWaiting?.(work) === true
  const slotting = createSlots(running, held, { ...options, isWaiting })
  const { countRoom, isBehind, noteIfFull, noteFailedLook, noteLook, ...slots } = slotting
  let isScheduled = false
  let filling: Promise<void> | undefined
  let isWokenAgain = false

  async function fill(): Promise<void> {
    do {
      isWokenAgain = false
      const { limit, taken } = options.countsAlone ? slots.lookForAll() : countRoom()
      if (limit <= 0) break
      const leased = await options.lease(limit, taken).catch(noteFailedLook)
      for (const work of leased) begin(work)
      if (leased.length === limit) isWokenAgain = true
    } while (isWokenAgain)
  }

  function endFilling(): void {
    filling = undefined
  }

  function endLook(end: LookEnd): void {
    if (noteLook(end)) wake()
  }

  function begin(work: Work, place: Held = work): void {
    const isCounted = held.delete(place)
    const finished = options
      .run(work)
      .catch(options.onError)
      .finally(() => {
        running.delete(work)
        freed.delete(work)
        if (isBehind(options.groupOf(work))) wake()
      })
    running.set(work, finished)
    if (!isCounted) noteIfFull(options.groupOf(work))
  }

  function freeSlot(work: Work): void {
    // A store that is slow gets no more results than there are slots.
    if (freed.size >= options.slots) return
    freed.add(work)
    if (isBehind(options.groupOf(work))) wake()
  }

  // Pieces of work that end in the same instant are replaced by one claim, not by many.
  function wake(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      if (filling) isWokenAgain = true
      else filling = fill().finally(endFilling)
    })
  }

  async function drain(): Promise<void> {
    while (filling || running.size > 0 || held.size > 0) {
      await Promise.all([filling, ...running.values(), held.size > 0 && soon()])
    }
  }

  return { ...slots, endLook, wake, running, freeSlot, begin, drain }
}

interface Slots<Held> extends PoolSlots<Held>, Pick<WorkPool<unknown>, 'countFree'> {
  countRoom(): Room
  /** Whether work of this group may be ready and wait for a slot. */
  isBehind(group: string | undefined): boolean
  /** After work has filled a slot. @returns how many are free for more of its group */
  noteIfFull(group: string | undefined): number
  /** @returns what it has found */
  noteFailedLook(error: unknown): readonly never[]
  /** @returns whether there may be more */
  noteLook(end: LookEnd): boolean
}

/**
 * Counts the slots that work fills, running or held, and notes which groups may have more work than slots. A pool that nobody tells when its
 * work is leased (`lookForAll`) is behind with all groups.
 */
function createSlots<Work extends Held, Held>(
  running: ReadonlyMap<Work, unknown>,
  held: Set<Held>,
  options: WorkPoolOptions<Work, Held>,
): Slots<Held> {
  const { groupOf, groupSlots = () => Number.POSITIVE_INFINITY, onError } = options
  const behind = new Set<string>()
  const look = createLookSize()
  let elsewhere: LookEnd['elsewhere'] = new Map()
  let areAllBehind = true

  const countRoom = () => countSlots(running, held, options)
  const countFreeOf = (group: string, { taken }: Room) => groupSlots(group) - (taken.get(group) ?? 0)
  const isBehind = (group: string | undefined) => areAllBehind || (group !== undefined && behind.has(group))

  /** Slots of a group that others fill, or may fill before we hear of it. */
  function countOthers(group: string): number {
    const others = elsewhere.get(group) ?? 0
    return others > 0 ? others + Math.ceil(groupSlots(group) / 2) : 0
  }

  /** @returns slots that are free for it */
  function noteIfFull(group: string | undefined): number {
    const room = countRoom()
    const ofGroup = group === undefined ? room.limit : countFreeOf(group, room) - countOthers(group)
    const free = Math.min(room.limit, ofGroup)
    if (free <= 0) look.widen()
    if (room.limit <= 0) areAllBehind = true
    if (group !== undefined && ofGroup <= 0) behind.add(group)
    return free
  }

  return {
    countRoom,
    countFree: group => countFreeOf(group, countRoom()),
    isBehind,
    noteIfFull,
    noteFailedLook(error) {
      areAllBehind = true
      onError(error)
      return []
    },
    hasRoom(work) {
      const group = groupOf(work)
      const free = noteIfFull(group)
      // A look that goes on may fill as many, and all of one group.
      return free > look.size() && !isBehind(group)
    },
    lookForAll(isBeside = false) {
      const room = countRoom()
      areAllBehind = room.limit <= 0
      for (const group of behind) if (countFreeOf(group, room) > 0) behind.delete(group)
      return isBeside ? { ...room, limit: look.begin(room.limit) } : room
    },
    noteLook(end) {
      elsewhere = end.elsewhere
      const isAll = look.end(end.found)
      if (!isAll) areAllBehind = true
      return !isAll
    },
    hold(work) {
      held.add(work)
      noteIfFull(groupOf(work))
    },
    letGo: work => void held.delete(work),
  }
}

/** Slots of a look at least: few, so that it leaves room beside it, and enough for it to find most there is. */
const smallestLook = 16

/** Looks that leave room for what begins meanwhile: twice as large as what the last one found. Where slots have run out, the next one has all. */
function createLookSize() {
  let next = Number.POSITIVE_INFINITY
  let size = 0
  return {
    /** Of the look that goes on; 0: there is none. */
    size: () => size,
    widen(): void {
      next = Number.POSITIVE_INFINITY
    },
    /** One that was broken off has ended. */
    begin(limit: number): number {
      size = Math.max(0, Math.min(limit, next))
      return size
    },
    /** @returns whether it has found all there is */
    end(found: number): boolean {
      const isAll = size === 0 || found < size
      next = Math.max(smallestLook, 2 * found)
      size = 0
      return isAll
    },
  }
}

function countSlots<Work extends Held, Held>(
  running: ReadonlyMap<Work, unknown>,
  held: ReadonlySet<Held>,
  { slots, groupOf, isWaiting = () => false, isClosed }: WorkPoolOptions<Work, Held>,
): Room {
  const taken = new Map<string, number>()
  let busy = 0
  const add = (work: Held) => {
    busy += 1
    const group = groupOf(work)
    if (group !== undefined) taken.set(group, (taken.get(group) ?? 0) + 1)
  }
  for (const work of running.keys()) if (!isWaiting(work)) add(work)
  for (const work of held) add(work)
  return { limit: isClosed() ? 0 : slots - busy, taken }
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
