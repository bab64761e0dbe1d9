import { Unavailable } from '@postern/core'

/**
 * Runs `work` when nothing else runs for this host: one at a time, in the order asked.
 * @throws Unavailable too many wait already; what is asked for may no longer be wanted when its turn comes
 */
export type RunInLane = <Result>(host: string, work: () => Promise<Result>) => Promise<Result>

interface Lane {
  last: Promise<unknown>
  length: number
}

export function createHostLanes(maxLength: number): RunInLane {
  const lanes = new Map<string, Lane>()
  return async function runInLane(host, work) {
    const lane = lanes.get(host) ?? { last: Promise.resolve(), length: 0 }
    if (lane.length >= maxLength) throw new Unavailable('Cannot fetch: too many wait for its host')
    const run = lane.length > 0 ? lane.last.then(work, work) : work()
    lanes.set(host, Object.assign(lane, { last: run, length: lane.length + 1 }))
    try {
      return await run
    } finally {
      lane.length -= 1
      if (lane.length === 0) lanes.delete(host)
    }
  }
}
