import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

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

export const hostOperations = {
  list: defineOperation({
    id: 'listHosts',
    method: 'GET',
    path: '/hosts',
    summary: 'Lists the hosts that deliveries wait for, at most 500, and the hosts that this gateway leaves alone.',
    task: 'list hosts',
    answer: z.object({ hosts: z.array(hostSchema).readonly() }),
  }),
} as const
