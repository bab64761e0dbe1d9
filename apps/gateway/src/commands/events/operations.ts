import { changeKinds } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters } from '../../api/page.ts'

const { agent, channel } = listFilters

export const eventOperations = {
  follow: defineOperation({
    id: 'followEvents',
    method: 'GET',
    path: '/events',
    summary: 'Streams what changes, as server-sent events; `Last-Event-ID` or `after` goes on behind an event.',
    task: 'follow events',
    query: z.object({
      agent,
      channel,
      kind: z.array(z.enum(changeKinds)).optional().describe('Only events of these kinds; default: all.'),
      after: z.string().max(100).optional().describe('Id of the last event that the reader saw.'),
    }),
    media: {
      'text/event-stream': z
        .string()
        .describe(
          'Events `message` and `turn` have a `MessageSummary` as data, `delivery` a `Delivery` without `wire` and `attempt_log`, `refusal` a `Refusal`, `requirement` the number of its `message`. Several changes of one record are one event. `ready` begins the stream; `reload` says that events are missing: read the lists anew.',
        ),
    },
    refusals: { rate_limited: 'Too many streams are open.' },
  }),
} as const
