import { constants, setPriority } from 'node:os'
import { paceServer } from '../http/load.ts'
import { serveMeasured } from '../servers/child.ts'
import { openSite } from '../servers/site.ts'
import type { FloodKind } from './requests.ts'
import { forge } from './requests.ts'

/** `ready` makes the requests, `go` sends them. */
export type FloodOrder =
  | { readonly step: 'ready'; readonly kind: FloodKind; readonly count: number }
  | { readonly step: 'go'; readonly port: number; readonly perSecond: number }

/** How many of each status came back, and how fast it really went. */
export interface Flooded {
  readonly perSecond: number
  readonly statuses: Readonly<Record<string, number>>
}

/** The attacker: the requests, and the hosts that its names point to, where nobody lives. */
await serveMeasured(async () => {
  // It shares a core with the honest client, whose latency is measured.
  setPriority(constants.priority.PRIORITY_LOW)
  const site = await openSite(new Map())
  let requests: readonly Uint8Array[] = []
  let answered = 0
  return {
    port: site.port,
    handled: () => answered,
    async work(given): Promise<Flooded | undefined> {
      const order = given as FloodOrder
      if (order.step === 'ready') {
        requests = Array.from({ length: order.count }, forge[order.kind])
        return undefined
      }
      const statuses: Record<string, number> = {}
      const isAccepted = ({ status }: { readonly status: number }) => {
        statuses[status] = (statuses[status] ?? 0) + 1
        // The gateway must let none of it in.
        return status >= 400
      }
      const { port, perSecond } = order
      const sent = await paceServer({ port, connections: 32, requests, isAccepted }, perSecond)
      answered += sent.accepted
      return { perSecond: sent.accepted / sent.seconds, statuses }
    },
  }
})
