/** What has arrived somewhere, in order, and a way to wait for what has not arrived yet. */
export interface Arrivals<Item> {
  readonly items: readonly Item[]
  add(item: Item): void
  /** The first item that matches, already here or still to come. @throws Error after `timeoutMs` or on close */
  waitFor(match: (item: Item) => boolean, timeoutMs: number): Promise<Item>
  close(): void
}

/** `what` names the items in the error of a wait that ran out. */
export function createArrivals<Item>(what: string): Arrivals<Item> {
  const items: Item[] = []
  const waiting = new Set<{ match(item: Item): boolean; resolve(item: Item): void; fail(reason: string): void }>()
  return {
    items,
    add(item) {
      items.push(item)
      for (const waiter of waiting) if (waiter.match(item)) waiter.resolve(item)
    },
    async waitFor(match, timeoutMs) {
      const here = items.find(match)
      if (here !== undefined) return here
      const { promise, resolve, reject } = Promise.withResolvers<Item>()
      const fail = (reason: string) => reject(new Error(`No ${what} arrived: ${reason}`))
      const waiter = { match, resolve, fail }
      const timer = setTimeout(() => fail(`waited ${timeoutMs} ms`), timeoutMs)
      waiting.add(waiter)
      return promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(waiter)
      })
    },
    close() {
      for (const { fail } of waiting) fail('the simulation was closed')
    },
  }
}
