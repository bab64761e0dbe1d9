export interface LaneOptions<Work> {
  /** How much runs at once. */
  readonly slots: number
  /** Takes up to `limit` pieces of ready work. */
  lease(limit: number): Promise<readonly Work[]>
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

/** Keeps `slots` pieces of work running for as long as there are any. */
export function createLane<Work>(options: LaneOptions<Work>): Lane<Work> {
  const running = new Map<Work, Promise<void>>()
  let isScheduled = false
  let filling: Promise<void> | undefined
  let isWokenMeanwhile = false

  async function fill(): Promise<void> {
    do {
      isWokenMeanwhile = false
      const free = options.slots - running.size
      if (free <= 0 || options.isClosed()) break
      const leased = await leaseQuietly(free)
      for (const work of leased) begin(work)
      if (leased.length === free) isWokenMeanwhile = true
    } while (isWokenMeanwhile)
  }

  function endFilling(): void {
    filling = undefined
  }

  async function leaseQuietly(limit: number): Promise<readonly Work[]> {
    try {
      return await options.lease(limit)
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
