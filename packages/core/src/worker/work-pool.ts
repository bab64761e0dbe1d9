export interface WorkPoolOptions<Work> {
  /** How much runs at once. */
  readonly slots: number
  groupOf(work: Work): string | undefined
  /**
   * Leases up to `limit` pieces of ready work, and of each group only as many as fill its slots; `taken` of them are
   * filled.
   */
  lease(limit: number, taken: ReadonlyMap<string, number>): Promise<readonly Work[]>
  run(work: Work): Promise<void>
  /** Waiting work uses no slot. When it continues, more may run than there are slots. */
  isWaiting?(work: Work): boolean
  isClosed(): boolean
  onError(error: unknown): void
}

export interface WorkPool<Work> {
  /** Look for work soon; cheap to call often. */
  wake(): void
  readonly running: ReadonlyMap<Work, Promise<void>>
  /** Resolves when nothing runs and no lease in progress can start work. For a closed pool. */
  drain(): Promise<void>
}

/** Keeps `slots` pieces of work running for as long as there are any, and no more than `groupSlots` of one group. */
export function createWorkPool<Work>(options: WorkPoolOptions<Work>): WorkPool<Work> {
  const running = new Map<Work, Promise<void>>()
  let isScheduled = false
  let filling: Promise<void> | undefined
  let isWokenAgain = false

  async function fill(): Promise<void> {
    do {
      isWokenAgain = false
      const busy = listBusy(running.keys(), options)
      const limit = options.slots - busy.length
      if (limit <= 0 || options.isClosed()) break
      const leased = await leaseQuietly(limit, busy, options)
      for (const work of leased) begin(work)
      if (leased.length === limit) isWokenAgain = true
    } while (isWokenAgain)
  }

  function endFilling(): void {
    filling = undefined
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
      if (filling) isWokenAgain = true
      else filling = fill().finally(endFilling)
    })
  }

  async function drain(): Promise<void> {
    while (filling || running.size > 0) await Promise.all([filling, ...running.values()])
  }

  return { wake, running, drain }
}

/** The work that fills slots. */
function listBusy<Work>(running: Iterable<Work>, { isWaiting }: WorkPoolOptions<Work>): readonly Work[] {
  const all = [...running]
  return isWaiting ? all.filter(work => !isWaiting(work)) : all
}

async function leaseQuietly<Work>(
  limit: number,
  busy: readonly Work[],
  options: WorkPoolOptions<Work>,
): Promise<readonly Work[]> {
  try {
    return await options.lease(
      limit,
      countGroups(busy, work => options.groupOf(work)),
    )
  } catch (error) {
    options.onError(error)
    return []
  }
}

function countGroups<Work>(
  busy: readonly Work[],
  groupOf: WorkPoolOptions<Work>['groupOf'],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const work of busy) {
    const group = groupOf(work)
    if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  return counts
}
