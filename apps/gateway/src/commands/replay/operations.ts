import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters } from '../../api/page.ts'
import type { ReplayPage } from '../../replay/range.ts'
import type { ReplayReport } from '../../replay/replay.ts'

const changesSchema = z
  .array(
    z.object({
      path: z.string().describe('Member that differs, as `parts.0.content`; empty: the whole.'),
      before: z.unknown().optional().describe('As the store has it.'),
      after: z.unknown().optional().describe('As it is now.'),
    }),
  )
  .readonly()

const reportSchema = z
  .object({
    message: z.int().describe('The gateway’s number of the message.'),
    id: z.string().describe('The peer’s id of it.'),
    via: z.string().describe('Channel.'),
    agent: z.string(),
    received_at: z.string().describe('ISO 8601 UTC.'),
    outcome: z
      .enum(['same', 'changed', 'refused', 'skipped'])
      .describe('`refused`: today the gateway would refuse it, or could not decide. `skipped`: it has no replay.'),
    reason: z.string().optional(),
    proofs: changesSchema,
    normalized: changesSchema.describe('The message as the agent gets it.'),
    response: changesSchema,
    wire: changesSchema.describe('The documents that leave; a path begins with the destination.'),
    not_called: z.string().optional().describe('Why the gateway did not call the agent; absent when it did.'),
    answer: z.array(z.unknown()).optional().describe('Parts of what the agent says now, where that differs.'),
    queued: z
      .object({
        kind: z.enum(['edit', 'answer', 'nothing']),
        response: z.string().optional().describe('Id of the response.'),
        reason: z.string().optional(),
      })
      .optional()
      .describe('What `commit` did.'),
  })
  .meta({ id: 'ReplayReport' }) as unknown as z.ZodType<ReplayReport>

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
    answer: reportSchema,
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
    answer: z.object({
      items: z.array(reportSchema).readonly(),
      next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
    }) as unknown as z.ZodType<ReplayPage>,
    refusals: {
      malformed: '`use` answers for one agent: `agent` has to name it.',
      forbidden: '`use` is outside of the project’s folder.',
    },
  }),
} as const
