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
}

/** Keeps `slots` pieces of work running for as long as there are any. */
export function createLane<Work>(options: LaneOptions<Work>): Lane<Work> {
  const running = new Map<Work, Promise<void>>()
  let isScheduled = false
  let isFilling = false
  let isWokenMeanwhile = false

  async function fill(): Promise<void> {
    if (isFilling) {
      isWokenMeanwhile = true
      return
    }
    isFilling = true
    do {
      isWokenMeanwhile = false
      const free = options.slots - running.size
      if (free <= 0 || options.isClosed()) break
      const leased = await leaseQuietly(free)
      for (const work of leased) begin(work)
      if (leased.length === free) isWokenMeanwhile = true
    } while (isWokenMeanwhile)
    isFilling = false
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
      void fill()
    })
  }

  return { wake, running }
}
