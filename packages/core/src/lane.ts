export interface LaneOptions<Work> {
  /** How much runs at once. */
  readonly slots: number
  /** How much of one group runs at once, so that one that hangs leaves room for the others. */
  readonly groupSlots: number
  groupOf(work: Work): string | undefined
  /** Takes up to `limit` pieces of ready work, none of a `busy` group. */
  lease(limit: number, busy: readonly string[]): Promise<readonly Work[]>
  run(work: Work): Promise<void>
  isClosed(): boolean
  onError(error: unknown): void
}

export interface Lane<Work> {
  /** Look for work soon; cheap to call often. */
  wake(): void
  readonly running: ReadonlyMap<Work, Promise<void>>
  /** Resolves when nothing runs, and no work that was being taken can begin any more. For a lane that is closed. */
  drain(): Promise<void>
}

/** Keeps `slots` pieces of work running for as long as there are any, and no more than `groupSlots` of one group. */
export function createLane<Work>(options: LaneOptions<Work>): Lane<Work> {
  const running = new Map<Work, Promise<void>>()
  let isScheduled = false
  let filling: Promise<void> | undefined
  let isWokenMeanwhile = false

  async function fill(): Promise<void> {
    do {
      isWokenMeanwhile = false
      const { limit, busy } = findRoom()
      if (limit <= 0 || options.isClosed()) break
      const leased = await leaseQuietly(limit, busy)
      for (const work of leased) begin(work)
      if (leased.length === limit) isWokenMeanwhile = true
    } while (isWokenMeanwhile)
  }

  function endFilling(): void {
    filling = undefined
  }

  /** How much may be taken now without any group getting more than its share. */
  function findRoom(): { readonly limit: number; readonly busy: readonly string[] } {
    const counts = new Map<string, number>()
    for (const work of running.keys()) {
      const group = options.groupOf(work)
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1)
    }
    const open = [...counts].filter(([, count]) => count < options.groupSlots)
    const room = Math.min(options.groupSlots, ...open.map(([, count]) => options.groupSlots - count))
    const busy = [...counts].filter(([, count]) => count >= options.groupSlots).map(([group]) => group)
    return { limit: Math.min(options.slots - running.size, room), busy }
  }

  async function leaseQuietly(limit: number, busy: readonly string[]): Promise<readonly Work[]> {
    try {
      return await options.lease(limit, busy)
    } catch (error) {
      options.onError(error)
      return []
    }
  }

  function begin(work: Work): void {
    const finished = options
      .run(work)
      .catch(options.onError)
      .finally(() => {
        running.delete(work)
        wake()
      })
    running.set(work, finished)
  }

  // Pieces of work that end in the same instant are replaced by one claim, not by many.
  function wake(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      if (filling) isWokenMeanwhile = true
      else filling = fill().finally(endFilling)
    })
  }

  async function drain(): Promise<void> {
    while (filling || running.size > 0) await Promise.all([filling, ...running.values()])
  }

  return { wake, running, drain }
}
