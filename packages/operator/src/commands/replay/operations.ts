// Declares the operations that replay stored messages.
import { isJsonObject } from '@postern/message'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, unknownNameRefusal } from '../../api/page.ts'
import { replayPageSchema, replayReportSchema } from '../../replay/report.ts'

const replayOptions = {
  use: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('A module in the project’s folder that answers in place of the agent, as `./agents/new.ts`.'),
  clock: z
    .enum(['then', 'now'])
    .default('then')
    .describe('`now`: the present time, and keys fetched again; `then`: the recorded ones, without a fetch.'),
  call: z.boolean().default(false).describe('Also calls remote agents, which then see the message again.'),
}

/** The maximum number of messages in one page of a range. */
const maxReplayedMessages = 100

export const replayOperations = {
  one: defineOperation({
    id: 'replayMessage',
    method: 'POST',
    path: '/messages/{id}/replay',
    isReadOnly: body => !isJsonObject(body) || body.commit !== true,
    summary:
      'Runs a stored message through today’s code and returns the differences; sends nothing unless `commit` is set.',
    task: 'replay',
    parameters: z.object({
      id: z.string().describe('The message’s number (`12`, `#12`), or the peer’s id, percent-encoded.'),
    }),
    body: {
      schema: z.strictObject({
        ...replayOptions,
        commit: z
          .boolean()
          .default(false)
          .describe('Queues the new answer: in place of the old one, or as the first one. Calls the agent.'),
        again: z
          .boolean()
          .default(false)
          .describe('With `commit`: sends a further mail or post where the recorded answer has failed.'),
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
    isReadOnly: () => true,
    summary: 'Replays stored messages, newest first, one page at a time; sends nothing.',
    task: 'replay',
    body: {
      schema: z.strictObject({
        ...replayOptions,
        agent: listFilters.agent,
        channel: listFilters.channel,
        since: listFilters.since,
        until: listFilters.until,
        limit: z.int().min(1).max(maxReplayedMessages).default(20).describe('Number of messages in the page, at most.'),
        after: z.int().min(0).optional().describe('`next` of the previous page.'),
      }),
      isOptional: true,
    },
    answer: replayPageSchema,
    refusals: {
      ...unknownNameRefusal,
      malformed: '`use` answers for one agent: `agent` has to name it.',
      forbidden: '`use` is outside of the project’s folder.',
    },
  }),
} as const
