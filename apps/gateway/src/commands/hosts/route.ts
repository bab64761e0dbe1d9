import type { LeftAloneHost, OperatorStore, WaitingHost } from '@postern/core'
import { isoTime } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const instant = z.string().describe('ISO 8601 UTC.')

const hostSchema = z
  .object({
    host: z.string().describe('Host of an inbox or endpoint, with its port where it names one; of mail the domain.'),
    deliveries: z.int().describe('Deliveries that wait for it.'),
    failing: z.int().describe('Those of them with a failed attempt.'),
    oldest_at: instant.optional().describe('Since when the oldest of them waits, ISO 8601 UTC.'),
    next_attempt_at: instant
      .optional()
      .describe('When the next of them is due, ISO 8601 UTC; absent while all of them are being tried.'),
    breaker: z
      .enum(['closed', 'open'])
      .describe('`open`: it does not answer, and the gateway sends it nothing for a while.'),
    open_until: instant.optional().describe('When an open breaker lets the next attempt through, ISO 8601 UTC.'),
    retry_after: instant.optional().describe('Until when the host asked for no requests, ISO 8601 UTC.'),
  })
  .meta({ id: 'WaitingHost' })

const hostOperation = defineOperation({
  id: 'listHosts',
  method: 'GET',
  path: '/hosts',
  summary: 'Lists the hosts that deliveries wait for, at most 500, and the hosts that this gateway leaves alone.',
  task: 'list hosts',
  answer: z.object({ hosts: z.array(hostSchema).readonly() }),
})

interface HostRouteOptions {
  readonly store: Pick<OperatorStore, 'listWaitingHosts'>
  listLeftAlone(): readonly LeftAloneHost[]
}

const mostHosts = 500

/** Where deliveries wait, and why. */
export function createHostRoute({ store, listLeftAlone }: HostRouteOptions): OperatorRoute {
  return handleOperation(hostOperation, async () => {
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
  })
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
