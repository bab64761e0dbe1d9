export interface SlotOptions<Work extends Held, Held> {
  /** How much runs at once. */
  readonly slots: number
  groupOf(work: Held): string | undefined
  /** How much of a group runs at once; default: any number. */
  groupSlots?(group: string): number
  /** Waiting work uses no slot. When it continues, more may run than there are slots. */
  isWaiting?(work: Work): boolean
  isClosed(): boolean
}

interface Room {
  /** Slots that are free. */
  readonly limit: number
  /** How many each group fills. */
  readonly taken: ReadonlyMap<string, number>
}

/** What has come of a look. */
export interface LookEnd {
  /** How much was leased. */
  readonly found: number
  /** How much was ready, with what somebody else keeps busy. */
  readonly seen: number
  /** How many slots of each group others fill. */
  readonly elsewhere: ReadonlyMap<string, number>
}

/** What a store asks that leases work before anybody has asked it. */
export interface PoolSlots<Held> {
  /** Whether this work may begin now: it finds a free slot and overtakes nothing that waits for one. */
  hasRoom(work: Held): boolean
  /**
   * All that is ready is leased now, as far as there are slots. `isBeside`: other work is leased meanwhile. Then the look has a part of the free slots,
   * which are its own until `endLook`.
   */
  lookForAll(isBeside?: boolean): Room
  /** Keeps a slot for leased work until it begins. */
  hold(work: Held): void
  /** Its lease was undone: the next look finds it. */
  giveUp(work: Held): void
  /** Slots of a group that are free. */
  countFree(group: string): number
}

interface Slots<Work extends Held, Held> extends PoolSlots<Held> {
  countRoom(): Room
  /** Whether work of this group may be ready and wait for a slot. */
  isBehind(group: string | undefined): boolean
  /** After work has filled a slot. @returns how many are free for more of its group */
  noteIfFull(group: string | undefined): number
  noteFailedLook(): void
  /** @returns whether another look finds more */
  noteLook(end: LookEnd): boolean
  countHeld(): number
  /** @returns whether a slot was kept for it */
  release(work: Held): boolean
  /** Work that runs takes no slot any more. @returns whether that may be */
  free(work: Work): boolean
  /** Work that was freed has ended. */
  forget(work: Work): void
}

/**
 * Counts the slots that work fills, running or held, and notes which groups may have more work than slots. A pool that nobody tells when its
 * work is leased (`lookForAll`) is behind with all groups.
 */
export function createSlots<Work extends Held, Held>(
  running: ReadonlyMap<Work, unknown>,
  options: SlotOptions<Work, Held>,
): Slots<Work, Held> {
  const { groupOf, groupSlots = () => Number.POSITIVE_INFINITY } = options
  const filled = { running, held: new Set<Held>(), freed: new Set<Work>() }
  const behind = createBehind()
  const look = createLookSize()
  let elsewhere: LookEnd['elsewhere'] = new Map()

  const countRoom = () => countSlots(filled, options)
  const countFreeOf = (group: string, { taken }: Room) => groupSlots(group) - (taken.get(group) ?? 0)

  /** Slots of a group that others fill, or may fill before we hear of it. */
  function countOthers(group: string): number {
    const others = elsewhere.get(group) ?? 0
    return others > 0 ? others + Math.ceil(groupSlots(group) / 2) : 0
  }

  function noteIfFull(group: string | undefined): number {
    const room = countRoom()
    const ofGroup = group === undefined ? room.limit : countFreeOf(group, room) - countOthers(group)
    const free = Math.min(room.limit, ofGroup)
    if (free <= 0) look.widen()
    if (room.limit <= 0) behind.addAll()
    if (group !== undefined && ofGroup <= 0) behind.add(group)
    return free
  }

  return {
    ...createHolding(filled, options, noteIfFull),
    countRoom,
    countFree: group => countFreeOf(group, countRoom()),
    isBehind: behind.has,
    noteIfFull,
    noteFailedLook: behind.addAll,
    hasRoom(work) {
      const group = groupOf(work)
      // A look that goes on may fill as many, and all of one group.
      return noteIfFull(group) > look.size() && !behind.has(group)
    },
    lookForAll(isBeside = false) {
      const room = countRoom()
      behind.clear(room.limit > 0, group => countFreeOf(group, room) > 0)
      return isBeside ? { ...room, limit: look.begin(room.limit) } : room
    },
    noteLook({ found, seen, elsewhere: others }) {
      elsewhere = others
      const room = countRoom()
      // Full together with others, it is looked for when one of its own ends.
      for (const [group, count] of others) if (countFreeOf(group, room) <= count) behind.add(group)
      const size = look.end(seen)
      if (seen >= size) behind.addAll()
      return found >= size
    },
  }
}

/** Groups that may have more work than slots. */
function createBehind() {
  const groups = new Set<string>()
  let areAll = true
  return {
    has: (group: string | undefined) => areAll || (group !== undefined && groups.has(group)),
    add: (group: string) => void groups.add(group),
    addAll(): void {
      areAll = true
    },
    /** All is leased for which there is a slot. */
    clear(hasRoom: boolean, isFree: (group: string) => boolean): void {
      areAll = !hasRoom
      for (const group of groups) if (isFree(group)) groups.delete(group)
    },
  }
}

interface Filled<Work, Held> {
  readonly running: ReadonlyMap<Work, unknown>
  readonly held: Set<Held>
  readonly freed: Set<Work>
}

type Holding<Work extends Held, Held> = Pick<
  Slots<Work, Held>,
  'hold' | 'giveUp' | 'countHeld' | 'release' | 'free' | 'forget'
>

function createHolding<Work extends Held, Held>(
  { held, freed }: Filled<Work, Held>,
  { slots, groupOf }: SlotOptions<Work, Held>,
  noteIfFull: (group: string | undefined) => void,
): Holding<Work, Held> {
  return {
    hold(work) {
      held.add(work)
      noteIfFull(groupOf(work))
    },
    giveUp: work => void held.delete(work),
    countHeld: () => held.size,
    release: work => held.delete(work),
    free(work) {
      // A store that is slow gets no more results than there are slots.
      if (freed.size >= slots) return false
      freed.add(work)
      return true
    },
    forget: work => void freed.delete(work),
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
    /** @returns how many it might have found; any number, if nothing went on beside it */
    end(seen: number): number {
      const ended = size === 0 ? Number.POSITIVE_INFINITY : size
      next = Math.max(smallestLook, 2 * seen)
      size = 0
      return ended
    },
  }
}

function countSlots<Work extends Held, Held>(
  { running, held, freed }: Filled<Work, Held>,
  { slots, groupOf, isWaiting = () => false, isClosed }: SlotOptions<Work, Held>,
): Room {
  const taken = new Map<string, number>()
  let busy = 0
  const add = (work: Held) => {
    busy += 1
    const group = groupOf(work)
    if (group !== undefined) taken.set(group, (taken.get(group) ?? 0) + 1)
  }
  for (const work of running.keys()) if (!isWaiting(work) && !freed.has(work)) add(work)
  for (const work of held) add(work)
  return { limit: isClosed() ? 0 : slots - busy, taken }
}
