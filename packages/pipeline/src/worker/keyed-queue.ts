// Runs work with the same key one piece at a time.

/** Runs `work` once all earlier work with this key has ended. */
type RunOneByOne = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/**
 * Creates a queue for each key. Work with the same key runs one at a time and in order, even after a failure; work with another key does not wait
 * for it.
 */
export function createKeyedQueue(): RunOneByOne {
  const latestByKey = new Map<string, Promise<unknown>>()
  return async function runOneByOne(key, work) {
    const earlierRun = latestByKey.get(key)
    const run = earlierRun ? earlierRun.then(work, work) : work()
    latestByKey.set(key, run)
    try {
      return await run
    } finally {
      if (latestByKey.get(key) === run) latestByKey.delete(key)
    }
  }
}
