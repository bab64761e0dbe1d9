// Counts the slots of a worker, so that only a limited amount of work runs concurrently.
export interface SlotOptions<Work extends Held, Held> {
  /** The maximum amount of work that runs concurrently. */
  readonly slots: number
  groupOf(work: Held): string | undefined
  /** Returns the maximum amount of concurrent work of a group; default: any number. */
  groupSlots?(group: string): number
  /** Returns true if the work waits, and so uses no slot. When it continues, more work may run than there are slots. */
  isWaiting?(work: Work): boolean
  /** Returns true if the work is slow, and so uses no slot, but counts in its group. */
  isSlow?(work: Work): boolean
  isClosed(): boolean
}

/** Returns a function that works out the group of each delivery once. A pool asks for the groups of all its deliveries whenever it counts slots. */
export function rememberGroups<Work extends object>(groupOf: (work: Work) => string | undefined): typeof groupOf {
  const groups = new WeakMap<Work, { readonly group: string | undefined }>()
  return work => {
    const remembered = groups.get(work)
    if (remembered) return remembered.group
    const group = groupOf(work)
    groups.set(work, { group })
    return group
  }
}

interface Capacity {
  /** The number of free slots. */
  readonly limit: number
  /** The slots that each group uses. */
  readonly usedByGroup: ReadonlyMap<string, number>
}

/** The result of a poll. */
export interface PollEnd {
  /** The number of leased items. */
  readonly leasedCount: number
  /** The number of ready items, including those that another worker runs. */
  readonly readyCount: number
  /** The slots of each group that other workers use. */
  readonly heldByOthers: ReadonlyMap<string, number>
}

/** The slots of a pool, for a store that leases work before a poll. */
export interface PoolSlots<Held> {
  /** Returns true if this work may begin now: there is a free slot, and no other work waits for it. */
  hasCapacity(work: Held): boolean
  /**
   * Begins a poll, which leases all ready work for which there are slots. If `isConcurrent` is true, other work is leased in the meantime, and the poll
   * reserves only a part of the free slots until `endPoll`.
   */
  beginPoll(isConcurrent?: boolean): Capacity
  /** Reserves a slot for leased work until it begins. */
  reserveSlot(work: Held): void
  /** Reports that the lease of this work was undone, so that the next poll finds it. */
  undoLease(work: Held): void
  /** Returns the maximum amount of concurrent work of a group, here and in other workers; Infinity means any number. */
  maxConcurrent(group: string): number
}

interface Slots<Work extends Held, Held> extends PoolSlots<Held> {
  countCapacity(): Capacity
  /** Returns true if ready work of this group may wait for a slot. */
  hasWaiting(group: string | undefined): boolean
  /** Records that work has filled a slot. @returns the number of free slots for its group */
  noteIfFull(group: string | undefined): number
  noteFailedPoll(): void
  /** Records the result of a poll. @returns true if another poll may find more */
  notePoll(end: PollEnd): boolean
  countHeld(): number
  /** Frees the slot that was reserved for this work. @returns true if there was one */
  release(work: Held): boolean
  /** Frees the slot of running work before its end. @returns true if this is allowed */
  free(work: Work): boolean
  /** Records the end of work whose slot was freed before. */
  forget(work: Work): void
}

/**
 * Counts the slots of running and leased work, and records which groups may have more work than slots. If nobody calls `beginPoll`, it assumes that
 * all groups have waiting work.
 */
export function createSlots<Work extends Held, Held>(
  running: ReadonlyMap<Work, unknown>,
  options: SlotOptions<Work, Held>,
): Slots<Work, Held> {
  const { groupOf, groupSlots = () => Number.POSITIVE_INFINITY } = options
  const usedSlots = { running, tickets: new Set<Held>(), freedWork: new Set<Work>() }
  const waitingGroups = createWaitingGroups()
  const pollSize = createPollSize()
  let heldByOthers: PollEnd['heldByOthers'] = new Map()

  const countCapacity = () => countSlots(usedSlots, options)
  const countFreeOf = (group: string, { usedByGroup }: Capacity) => groupSlots(group) - (usedByGroup.get(group) ?? 0)

  /** Counts the slots of a group that other workers fill, or may fill before we learn of it. */
  function countOthers(group: string): number {
    const othersHeld = heldByOthers.get(group) ?? 0
    return othersHeld > 0 ? othersHeld + Math.ceil(groupSlots(group) / 2) : 0
  }

  function noteIfFull(group: string | undefined): number {
    const capacity = countCapacity()
    const freeOfGroup = group === undefined ? capacity.limit : countFreeOf(group, capacity) - countOthers(group)
    const freeSlots = Math.min(capacity.limit, freeOfGroup)
    if (freeSlots <= 0) pollSize.widen()
    if (capacity.limit <= 0) waitingGroups.addAll()
    if (group !== undefined && freeOfGroup <= 0) waitingGroups.add(group)
    return freeSlots
  }

  return {
    ...createSlotReservations(usedSlots, options, noteIfFull),
    countCapacity,
    maxConcurrent: groupSlots,
    hasWaiting: waitingGroups.has,
    noteIfFull,
    noteFailedPoll: waitingGroups.addAll,
    hasCapacity(work) {
      const group = groupOf(work)
      // A poll in progress may fill its slots with work of this group alone.
      return noteIfFull(group) > pollSize.size() && !waitingGroups.has(group)
    },
    beginPoll(isConcurrent = false) {
      const capacity = countCapacity()
      waitingGroups.clear(capacity.limit > 0, group => countFreeOf(group, capacity) > 0)
      return isConcurrent ? { ...capacity, limit: pollSize.begin(capacity.limit) } : capacity
    },
    notePoll({ leasedCount: leased, readyCount, heldByOthers: reportedCounts }) {
      heldByOthers = reportedCounts
      const capacity = countCapacity()
      // A group that is full because of other workers is polled when our own work of the group ends.
      for (const [group, count] of reportedCounts) if (countFreeOf(group, capacity) <= count) waitingGroups.add(group)
      const size = pollSize.end(readyCount)
      if (readyCount >= size) waitingGroups.addAll()
      return leased >= size
    },
  }
}

/** Creates the set of groups that may have more work than slots. */
function createWaitingGroups() {
  const groups = new Set<string>()
  let includesAll = true
  return {
    has: (group: string | undefined) => includesAll || (group !== undefined && groups.has(group)),
    add: (group: string) => void groups.add(group),
    addAll(): void {
      includesAll = true
    },
    /** Removes groups after a poll that has leased all work for which there are slots. */
    clear(hasCapacity: boolean, isFree: (group: string) => boolean): void {
      includesAll = !hasCapacity
      for (const group of groups) if (isFree(group)) groups.delete(group)
    },
  }
}

interface UsedSlots<Work, Held> {
  readonly running: ReadonlyMap<Work, unknown>
  readonly tickets: Set<Held>
  readonly freedWork: Set<Work>
}

type SlotReservations<Work extends Held, Held> = Pick<
  Slots<Work, Held>,
  'reserveSlot' | 'undoLease' | 'countHeld' | 'release' | 'free' | 'forget'
>

function createSlotReservations<Work extends Held, Held>(
  { tickets, freedWork }: UsedSlots<Work, Held>,
  { slots, groupOf }: SlotOptions<Work, Held>,
  noteIfFull: (group: string | undefined) => void,
): SlotReservations<Work, Held> {
  return {
    reserveSlot(work) {
      tickets.add(work)
      noteIfFull(groupOf(work))
    },
    undoLease: work => void tickets.delete(work),
    countHeld: () => tickets.size,
    release: work => tickets.delete(work),
    free(work) {
      // The limit keeps a slow store from getting more concurrent results than there are slots.
      if (freedWork.size >= slots) return false
      freedWork.add(work)
      return true
    },
    forget: work => void freedWork.delete(work),
  }
}

/** The minimum number of slots of a poll: few enough to leave capacity for other work, and enough to find most ready work. */
const minPollSize = 16

/**
 * Creates the size of polls that leave capacity for other work: twice the number of items that the last poll found. If a poll has used all its slots,
 * the next one gets all free slots.
 */
function createPollSize() {
  let nextSize = Number.POSITIVE_INFINITY
  let size = 0
  return {
    /** Returns the size of the poll in progress; 0 if there is none. */
    size: () => size,
    widen(): void {
      nextSize = Number.POSITIVE_INFINITY
    },
    /** Begins a poll and returns its size. It also replaces an aborted poll, which does not end. */
    begin(limit: number): number {
      size = Math.max(0, Math.min(limit, nextSize))
      return size
    },
    /** Ends a poll and returns its size; Infinity for a poll without a size, beside which no other work was leased. */
    end(readyCount: number): number {
      const endedSize = size === 0 ? Number.POSITIVE_INFINITY : size
      nextSize = Math.max(minPollSize, 2 * readyCount)
      size = 0
      return endedSize
    },
  }
}

function countSlots<Work extends Held, Held>(
  { running, tickets, freedWork }: UsedSlots<Work, Held>,
  { slots, groupOf, isWaiting = () => false, isSlow = () => false, isClosed }: SlotOptions<Work, Held>,
): Capacity {
  const usedByGroup = new Map<string, number>()
  let busyCount = 0
  const add = (work: Held, fillsSlot = true) => {
    if (fillsSlot) busyCount += 1
    const group = groupOf(work)
    if (group !== undefined) usedByGroup.set(group, (usedByGroup.get(group) ?? 0) + 1)
  }
  for (const work of running.keys()) if (!isWaiting(work) && !freedWork.has(work)) add(work, !isSlow(work))
  for (const work of tickets) add(work)
  return { limit: isClosed() ? 0 : slots - busyCount, usedByGroup }
}
