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
  const waiting = new Set<{ check(item: Item): void; end(): void }>()
  return {
    items,
    add(item) {
      items.push(item)
      for (const waiter of [...waiting]) waiter.check(item)
    },
    waitFor(match, timeoutMs) {
      const here = items.find(match)
      if (here !== undefined) return Promise.resolve(here)
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer)
          waiting.delete(waiter)
        }
        const fail = (reason: string) => {
          leave()
          reject(new Error(`No ${what} arrived: ${reason}`))
        }
        const timer = setTimeout(() => fail(`waited ${timeoutMs} ms`), timeoutMs)
        const waiter = {
          check(item: Item) {
            if (!match(item)) return
            leave()
            resolve(item)
          },
          end: () => fail('the simulation was closed'),
        }
        waiting.add(waiter)
      })
    },
    close() {
      for (const waiter of [...waiting]) waiter.end()
    },
  }
}
