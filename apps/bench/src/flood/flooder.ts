// Floods an inbox with unsigned or forged posts at a given rate.
import { constants, setPriority } from 'node:os'
import { paceServer } from '../http/load.ts'
import { serveMeasured } from '../servers/child.ts'
import { serveStaticHosts } from '../servers/static-hosts.ts'
import type { FloodKind } from './requests.ts'
import { makeFloodRequest } from './requests.ts'

/** An order to the flooder: `prepare` makes the requests, `send` sends them. */
export type FloodOrder =
  | { readonly step: 'prepare'; readonly kind: FloodKind; readonly count: number }
  | { readonly step: 'send'; readonly port: number; readonly perSecond: number }

/** The number of answers by status, and the real rate of the flood. */
export interface FloodResult {
  readonly perSecond: number
  readonly statuses: Readonly<Record<string, number>>
}

/** Serves the hosts that the attacker claims to write from, which have no actors, and sends its requests. */
await serveMeasured(async () => {
  // The attacker shares a core with the honest client, whose latency is measured.
  setPriority(constants.priority.PRIORITY_LOW)
  const staticHosts = await serveStaticHosts(new Map())
  let requests: readonly Uint8Array[] = []
  let requestsHandled = 0
  return {
    port: staticHosts.port,
    handled: () => requestsHandled,
    async work(input): Promise<FloodResult | undefined> {
      const order = input as FloodOrder
      if (order.step === 'prepare') {
        requests = Array.from({ length: order.count }, makeFloodRequest[order.kind])
        return undefined
      }
      const statuses: Record<string, number> = {}
      const countRefusal = ({ status }: { readonly status: number }) => {
        statuses[status] = (statuses[status] ?? 0) + 1
        // The gateway must refuse every request, so the load counts refusals as the expected answers.
        return status >= 400
      }
      const { port, perSecond } = order
      const outcome = await paceServer({ port, connections: 32, requests, isExpected: countRefusal }, perSecond)
      requestsHandled += outcome.expectedCount
      return { perSecond: outcome.expectedCount / outcome.seconds, statuses }
    },
  }
})
