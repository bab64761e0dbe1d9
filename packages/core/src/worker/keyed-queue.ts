/** Runs `work` when nothing that was begun before it runs under this key. */
type RunOneByOne = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** What has one key runs one at a time, in the order in which it came; what has another does not wait for it. */
export function createOneByOne(): RunOneByOne {
  const last = new Map<string, Promise<unknown>>()
  return async function runOneByOne(key, work) {
    const before = last.get(key)
    const run = before ? before.then(work, work) : work()
    last.set(key, run)
    try {
      return await run
    } finally {
      if (last.get(key) === run) last.delete(key)
    }
  }
}
