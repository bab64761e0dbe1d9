// Collects arrived items, and waits for those that have not arrived yet.

/** The items that have arrived, in order. */
export interface Arrivals<Item> {
  readonly items: readonly Item[]
  add(item: Item): void
  /**
   * Waits for the first item that matches, past or future. `until` is the longest wait in ms, or a signal that ends the wait.
   * @throws Error when the wait ends, or on close
   */
  waitFor(match: (item: Item) => boolean, until: number | AbortSignal): Promise<Item>
  close(): void
}

/** Creates a list of arrivals. `description` names the items in the error of a failed wait. */
export function createArrivals<Item>(description: string): Arrivals<Item> {
  const items: Item[] = []
  const waiters = new Set<{ match(item: Item): boolean; resolve(item: Item): void; fail(reason: string): void }>()
  return {
    items,
    add(item) {
      items.push(item)
      for (const waiter of waiters) if (waiter.match(item)) waiter.resolve(item)
    },
    async waitFor(match, until) {
      const arrivedItem = items.find(match)
      if (arrivedItem !== undefined) return arrivedItem
      const { promise, resolve, reject } = Promise.withResolvers<Item>()
      const fail = (reason: string) => reject(new Error(`No ${description} arrived: ${reason}`))
      const waiter = { match, resolve, fail }
      waiters.add(waiter)
      const endWait = scheduleEnd(until, () =>
        fail(typeof until === 'number' ? `waited ${until} ms` : 'the wait has ended'),
      )
      return promise.finally(() => {
        endWait()
        waiters.delete(waiter)
      })
    },
    close() {
      for (const { fail } of waiters) fail('the simulation was closed')
    },
  }
}

/** Calls `end` when the time is over or the signal aborts. Returns a function that cancels this. */
function scheduleEnd(until: number | AbortSignal, end: () => void): () => void {
  if (typeof until === 'number') {
    const timer = setTimeout(end, until)
    return () => clearTimeout(timer)
  }
  if (until.aborted) end()
  until.addEventListener('abort', end, { once: true })
  return () => until.removeEventListener('abort', end)
}
