/** Runs `work` when nothing else runs for this host: one at a time, in the order asked. */
export type RunInLane = <Result>(host: string, work: () => Promise<Result>) => Promise<Result>

export function createHostLanes(): RunInLane {
  const last = new Map<string, Promise<unknown>>()
  return async function runInLane(host, work) {
    const before = last.get(host)
    const run = before ? before.then(work, work) : work()
    last.set(host, run)
    try {
      return await run
    } finally {
      if (last.get(host) === run) last.delete(host)
    }
  }
}
