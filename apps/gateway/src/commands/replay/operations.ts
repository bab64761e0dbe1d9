import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters } from '../../api/page.ts'
import { replayPageSchema, replayReportSchema } from '../../replay/report.ts'

const manner = {
  use: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('A module in the project’s folder that answers in place of the agent, as `./agents/new.ts`.'),
  clock: z
    .enum(['then', 'now'])
    .default('then')
    .describe('`now`: today’s time, and keys fetched anew; `then`: those on record, without a fetch.'),
  call: z.boolean().default(false).describe('Calls agents elsewhere, too: they see the message once more.'),
}

/** Messages of one page of a range. */
const maxReplayed = 100

export const replayOperations = {
  one: defineOperation({
    id: 'replayMessage',
    method: 'POST',
    path: '/messages/{id}/replay',
    summary: 'Runs a stored message through today’s code and says what differs; sends nothing unless `commit` is set.',
    task: 'replay',
    parameters: z.object({ id: z.string().describe('Its number (`12`, `#12`), or the peer’s id, percent-encoded.') }),
    body: {
      schema: z.strictObject({
        ...manner,
        commit: z
          .boolean()
          .default(false)
          .describe('Queues the new answer: in place of the old one, or as the first one. Calls the agent.'),
      }),
      isOptional: true,
    },
    answer: replayReportSchema,
    refusals: {
      no_recipient: 'There is no message with this id.',
      forbidden: '`use` is outside of the project’s folder.',
    },
  }),
  range: defineOperation({
    id: 'replayMessages',
    method: 'POST',
    path: '/replay',
    summary: 'Replays stored messages, newest first, one page at a time; sends nothing.',
    task: 'replay',
    body: {
      schema: z.strictObject({
        ...manner,
        agent: listFilters.agent,
        channel: listFilters.channel,
        since: listFilters.since,
        until: listFilters.until,
        limit: z.int().min(1).max(maxReplayed).default(20).describe('Most messages of the page.'),
        after: z.int().min(0).optional().describe('`next` of the page before.'),
      }),
      isOptional: true,
    },
    answer: replayPageSchema,
    refusals: {
      malformed: '`use` answers for one agent: `agent` has to name it.',
      forbidden: '`use` is outside of the project’s folder.',
    },
  }),
} as const
