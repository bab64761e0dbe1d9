// Disturbs a simulated host, which then is slow, down or gone, or gives another answer.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SimAnswer, SimRequest } from './loopback-server.ts'

/** A disturbance of a host. Absent members change nothing, so a host with `{ delayMs: 500 }` is slow but correct. */
export interface Disturbance {
  /** The paths of the affected requests. Default: all. */
  readonly path?: RegExp | undefined
  readonly method?: string | undefined
  /** The delay before anything else happens, ms. */
  readonly delayMs?: number | undefined
  /** True to cut the connection without an answer. */
  readonly drop?: boolean | undefined
  /** The answer to give instead of the real one. */
  readonly answer?: SimAnswer | undefined
  /** The number of affected requests, after which the host recovers. Default: no limit. */
  readonly times?: number | undefined
}

/** The usual failures of servers. */
export const disturbances = {
  slow: (delayMs: number): Disturbance => ({ delayMs }),
  down: { drop: true },
  gone: { answer: { status: 410 } },
  busyOnce: { answer: { status: 503, headers: { 'retry-after': '1' } }, times: 1 },
  redirect: (location: string): Disturbance => ({ answer: { status: 302, headers: { location } } }),
} as const satisfies Record<string, Disturbance | ((...args: never[]) => Disturbance)>

export function createDisturbances() {
  const activeDisturbances = new Set<{
    readonly host: string
    readonly disturbance: Disturbance
    remainingCount: number
  }>()
  const closeController = new AbortController()
  return {
    /** Starts a disturbance of a host. Returns the function that ends the disturbance. */
    disturb(host: string, disturbance: Disturbance): () => void {
      const entry = { host, disturbance, remainingCount: disturbance.times ?? Number.POSITIVE_INFINITY }
      activeDisturbances.add(entry)
      return () => void activeDisturbances.delete(entry)
    },
    /** Answers a request by the disturbance of its host, or by `next` if there is none. */
    async pass(request: SimRequest, next: () => Promise<SimAnswer | undefined>): Promise<SimAnswer | undefined> {
      const entry = [...activeDisturbances].find(
        ({ host, disturbance }) => host === request.host && matches(request, disturbance),
      )
      if (!entry) return next()
      entry.remainingCount -= 1
      if (entry.remainingCount <= 0) activeDisturbances.delete(entry)
      const { delayMs, drop, answer } = entry.disturbance
      if (delayMs) await sleep(delayMs, undefined, { signal: closeController.signal })
      if (drop) return undefined
      return answer ?? next()
    },
    /** Ends all delays. */
    close: () => closeController.abort(),
  }
}

function matches(request: SimRequest, { path, method }: Disturbance): boolean {
  return (!path || path.test(request.path)) && (!method || method === request.method)
}
