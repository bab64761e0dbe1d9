// Counts the slots of a worker, so that only a limited amount of work runs concurrently.
import { addToCount } from '../add-to-count.ts'
export interface SlotOptions<Work extends Held, Held> {
  /** The maximum amount of work that runs concurrently. */
  readonly slots: number
  groupOf(work: Held): string | undefined
  /** Returns the maximum amount of concurrent work of a group; default: any number. */
  groupSlots?(group: string): number
  /** Returns true if the work waits, and so uses no slot. When it continues, more work may run than there are slots. */
  isWaiting?(work: Work): boolean
  /** The running work that is slow, and so uses no slot, but counts in its group. Slow work never waits. */
  readonly slowWork?: ReadonlySet<Work>
  isClosed(): boolean
}

/** Returns a function that works out the group of each delivery once. A pool asks for it whenever it begins or ends a delivery. */
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
  /** Records that work runs. */
  noteBegin(work: Work): void
  /** Records the end of running work. */
  noteEnd(work: Work): void
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
  const { countGroup, reserve, ...usage } = createUsage(running, options)
  const waitingGroups = createWaitingGroups()
  const pollSize = createPollSize()
  let heldByOthers: PollEnd['heldByOthers'] = new Map()

  const countFreeOf = (group: string, { usedByGroup }: Capacity) => groupSlots(group) - (usedByGroup.get(group) ?? 0)

  /** Counts the slots of a group that other workers fill, or may fill before we learn of it. */
  function countOthers(group: string): number {
    const othersHeld = heldByOthers.get(group) ?? 0
    return othersHeld > 0 ? othersHeld + Math.ceil(groupSlots(group) / 2) : 0
  }

  function noteIfFull(group: string | undefined): number {
    const { limit, used } = countGroup(group)
    const freeOfGroup = group === undefined ? limit : groupSlots(group) - used - countOthers(group)
    const freeSlots = Math.min(limit, freeOfGroup)
    if (freeSlots <= 0) pollSize.widen()
    if (limit <= 0) waitingGroups.addAll()
    if (group !== undefined && freeOfGroup <= 0) waitingGroups.add(group)
    return freeSlots
  }

  return {
    ...usage,
    reserveSlot(work) {
      reserve(work)
      noteIfFull(groupOf(work))
    },
    undoLease: work => void usage.release(work),
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
      const capacity = usage.countCapacity()
      waitingGroups.clear(capacity.limit > 0, group => countFreeOf(group, capacity) > 0)
      return isConcurrent ? { ...capacity, limit: pollSize.begin(capacity.limit) } : capacity
    },
    notePoll({ leasedCount: leased, readyCount, heldByOthers: reportedCounts }) {
      heldByOthers = reportedCounts
      const capacity = usage.countCapacity()
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

interface Usage<Work extends Held, Held>
  extends Pick<Slots<Work, Held>, 'countHeld' | 'free' | 'noteBegin' | 'noteEnd'> {
  countCapacity(): Capacity
  /** Counts the free slots, and the used ones of a group, without a look at the other groups. */
  countGroup(group: string | undefined): { readonly limit: number; readonly used: number }
  reserve(work: Held): void
  release(work: Held): boolean
}

/** Counts the slots that running and leased work uses. A pool asks for each piece of work, so the counts are kept instead of computed. */
function createUsage<Work extends Held, Held>(
  running: ReadonlyMap<Work, unknown>,
  { slots, groupOf, isWaiting, slowWork = new Set(), isClosed }: SlotOptions<Work, Held>,
): Usage<Work, Held> {
  const tickets = new Set<Held>()
  const freedWork = new Set<Work>()
  /** The numbers of running and leased pieces, including those that use no slot. */
  const countByGroup = new Map<string, number>()

  function changeCount(counts: Map<string, number>, work: Held, change: 1 | -1): void {
    const group = groupOf(work)
    if (group !== undefined) addToCount(counts, group, change)
  }

  /** Lists the running work that uses no slot, not even one of its group. */
  function listUncounted(): readonly Work[] {
    if (!isWaiting && freedWork.size === 0) return []
    return [...running.keys()].filter(work => freedWork.has(work) || isWaiting?.(work))
  }

  function countFree(uncounted: readonly Work[]): number {
    return isClosed() ? 0 : slots - (running.size + tickets.size - uncounted.length - slowWork.size)
  }

  return {
    countHeld: () => tickets.size,
    countCapacity() {
      const uncounted = listUncounted()
      const usedByGroup = new Map(countByGroup)
      for (const work of uncounted) changeCount(usedByGroup, work, -1)
      return { limit: countFree(uncounted), usedByGroup }
    },
    countGroup(group) {
      const uncounted = listUncounted()
      const unused = uncounted.filter(work => groupOf(work) === group).length
      return { limit: countFree(uncounted), used: (countByGroup.get(group ?? '') ?? 0) - unused }
    },
    noteBegin: work => changeCount(countByGroup, work, 1),
    noteEnd(work) {
      changeCount(countByGroup, work, -1)
      freedWork.delete(work)
    },
    reserve(work) {
      if (tickets.has(work)) return
      tickets.add(work)
      changeCount(countByGroup, work, 1)
    },
    release(work) {
      const isReserved = tickets.delete(work)
      if (isReserved) changeCount(countByGroup, work, -1)
      return isReserved
    },
    free(work) {
      // The limit keeps a slow store from getting more concurrent results than there are slots.
      if (freedWork.size >= slots) return false
      freedWork.add(work)
      return true
    },
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
