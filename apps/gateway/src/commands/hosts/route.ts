import type { LeftAloneHost, OperatorStore, WaitingHost } from '@postern/core'
import { isoTime } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { hostOperations } from './operations.ts'

interface HostRouteOptions {
  readonly store: Pick<OperatorStore, 'listWaitingHosts'>
  listLeftAlone(): readonly LeftAloneHost[]
}

const mostHosts = 500

/** Where deliveries wait, and why. */
export function createHostRoutes({ store, listLeftAlone }: HostRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(hostOperations.list, async () => {
      const leftAlone = new Map(listLeftAlone().map(each => [each.host, each]))
      const waiting = await store.listWaitingHosts(mostHosts)
      const known = new Set(waiting.map(({ host }) => host))
      const others = [...leftAlone.keys()].filter(host => !known.has(host))
      return {
        hosts: [
          ...waiting.map(host => ({ ...describeQueue(host), ...describeBreaker(leftAlone.get(host.host)) })),
          ...others.map(host => ({ host, deliveries: 0, failing: 0, ...describeBreaker(leftAlone.get(host)) })),
        ],
      }
    }),
  ]
}

function describeQueue({ host, deliveries, failing, oldestAt, nextAt }: WaitingHost) {
  return {
    ...{ host, deliveries, failing, oldest_at: isoTime(oldestAt) },
    ...(nextAt !== undefined && { next_attempt_at: isoTime(nextAt) }),
  }
}

function describeBreaker({ openUntil, heldUntil }: Partial<LeftAloneHost> = {}) {
  return {
    breaker: openUntil === undefined ? ('closed' as const) : ('open' as const),
    ...(openUntil !== undefined && { open_until: isoTime(openUntil) }),
    ...(heldUntil !== undefined && { retry_after: isoTime(heldUntil) }),
  }
}
