import { Unavailable } from '@postern/core'

/**
 * Runs `work` when nothing else runs for this host: one at a time, in the order of the calls.
 * @throws Unavailable when too many wait, or when the result is no longer wanted at its turn
 */
type RunInHostQueue = <Result>(host: string, work: () => Promise<Result>) => Promise<Result>

interface HostQueue {
  last: Promise<unknown>
  length: number
}

export function createHostQueues(maxLength: number): RunInHostQueue {
  const queues = new Map<string, HostQueue>()
  return async function runInHostQueue(host, work) {
    const queue = queues.get(host) ?? { last: Promise.resolve(), length: 0 }
    if (queue.length >= maxLength) throw new Unavailable('Cannot fetch: too many wait for its host')
    const run = queue.length > 0 ? queue.last.then(work, work) : work()
    queues.set(host, Object.assign(queue, { last: run, length: queue.length + 1 }))
    try {
      return await run
    } finally {
      queue.length -= 1
      if (queue.length === 0) queues.delete(host)
    }
  }
}
