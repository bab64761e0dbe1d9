// Makes a simulated host misbehave: slow, down, gone, or with a given answer.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SimAnswer, SimRequest } from './loopback-server.ts'

/** Misbehaviour of a host. Absent members change nothing: `{ delayMs: 500 }` is slow and right. */
export interface Disturbance {
  /** Only requests whose path matches; default all. */
  readonly path?: RegExp | undefined
  readonly method?: string | undefined
  /** Milliseconds before anything else happens. */
  readonly delayMs?: number | undefined
  /** Cuts the connection without an answer. */
  readonly drop?: boolean | undefined
  /** Answers this instead of the truth. */
  readonly answer?: SimAnswer | undefined
  /** Number of requests before all is well again; default: no end. */
  readonly times?: number | undefined
}

/** The usual ways in which a server fails. */
export const disturbances = {
  slow: (delayMs: number): Disturbance => ({ delayMs }),
  down: { drop: true },
  gone: { answer: { status: 410 } },
  busyOnce: { answer: { status: 503, headers: { 'retry-after': '1' } }, times: 1 },
  redirect: (location: string): Disturbance => ({ answer: { status: 302, headers: { location } } }),
} as const satisfies Record<string, Disturbance | ((...args: never[]) => Disturbance)>

export function createDisturbances() {
  const active = new Set<{ readonly host: string; readonly disturbance: Disturbance; left: number }>()
  const closing = new AbortController()
  return {
    /** Returns the function that fixes it. */
    disturb(host: string, disturbance: Disturbance): () => void {
      const entry = { host, disturbance, left: disturbance.times ?? Number.POSITIVE_INFINITY }
      active.add(entry)
      return () => void active.delete(entry)
    },
    /** Answers in place of `next` where the host is disturbed. */
    async pass(request: SimRequest, next: () => Promise<SimAnswer | undefined>): Promise<SimAnswer | undefined> {
      const entry = [...active].find(({ host, disturbance }) => host === request.host && matches(request, disturbance))
      if (!entry) return next()
      entry.left -= 1
      if (entry.left <= 0) active.delete(entry)
      const { delayMs, drop, answer } = entry.disturbance
      if (delayMs) await sleep(delayMs, undefined, { signal: closing.signal })
      if (drop) return undefined
      return answer ?? next()
    },
    /** Ends every delay. */
    close: () => closing.abort(),
  }
}

function matches(request: SimRequest, { path, method }: Disturbance): boolean {
  return (!path || path.test(request.path)) && (!method || method === request.method)
}
