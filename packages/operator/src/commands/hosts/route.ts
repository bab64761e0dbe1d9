// Lists the hosts that deliveries wait for, in the operator's API.
import { isoTime } from '@postern/message'
import type { OperatorStore, PausedHost, WaitingHost } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { instantSchema } from '../../api/page.ts'

const hostSchema = z
  .object({
    host: z.string().describe('Host of an inbox or endpoint, with its port if it has one; for mail, the domain.'),
    deliveries: z.int().describe('Deliveries that wait for the host.'),
    failing: z.int().describe('Waiting deliveries with a failed attempt.'),
    oldest_at: instantSchema.optional().describe('Creation of the oldest waiting delivery, ISO 8601 UTC.'),
    next_attempt_at: instantSchema
      .optional()
      .describe('Time of the next attempt, ISO 8601 UTC; absent while all deliveries are being tried.'),
    breaker: z
      .enum(['closed', 'open'])
      .describe('`open`: the host does not answer, and the gateway sends it nothing for a while.'),
    open_until: instantSchema
      .optional()
      .describe('Time at which an open breaker allows the next attempt, ISO 8601 UTC.'),
    retry_after: instantSchema
      .optional()
      .describe('Time until which the host has asked for no requests, ISO 8601 UTC.'),
  })
  .meta({ id: 'WaitingHost' })

const hostOperation = defineOperation({
  id: 'listHosts',
  method: 'GET',
  path: '/hosts',
  summary: 'Lists hosts with waiting deliveries, at most 500, and hosts that this gateway sends nothing for a while.',
  task: 'list hosts',
  answer: z.object({ hosts: z.array(hostSchema).readonly() }),
})

interface HostRouteOptions {
  readonly store: Pick<OperatorStore, 'listWaitingHosts'>
  listPausedHosts(): readonly PausedHost[]
}

const maxHosts = 500

export function createHostRoute({ store, listPausedHosts }: HostRouteOptions): OperatorRoute {
  return handleOperation(hostOperation, async () => {
    const pausedHosts = new Map(listPausedHosts().map(pausedHost => [pausedHost.host, pausedHost]))
    const waitingHosts = await store.listWaitingHosts(maxHosts)
    const waitingNames = new Set(waitingHosts.map(({ host }) => host))
    const idleNames = [...pausedHosts.keys()].filter(host => !waitingNames.has(host))
    return {
      hosts: [
        ...waitingHosts.map(host => ({
          ...describeWaitingHost(host),
          ...describeBreaker(pausedHosts.get(host.host)),
        })),
        ...idleNames.map(host => ({ host, deliveries: 0, failing: 0, ...describeBreaker(pausedHosts.get(host)) })),
      ],
    }
  })
}

function describeWaitingHost({ host, deliveries, failing, oldestAt, nextAt }: WaitingHost) {
  return {
    ...{ host, deliveries, failing, oldest_at: isoTime(oldestAt) },
    ...(nextAt !== undefined && { next_attempt_at: isoTime(nextAt) }),
  }
}

function describeBreaker({ openUntil, heldUntil }: Partial<PausedHost> = {}) {
  return {
    breaker: openUntil === undefined ? ('closed' as const) : ('open' as const),
    ...(openUntil !== undefined && { open_until: isoTime(openUntil) }),
    ...(heldUntil !== undefined && { retry_after: isoTime(heldUntil) }),
  }
}
