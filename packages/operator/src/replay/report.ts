// Defines the report of a replay: the differences in proofs, message, answer and sent documents.
import { z } from 'zod'

const changesSchema = z
  .array(
    z.object({
      path: z.string().describe('Member that differs, such as `parts.0.content`; empty for the whole document.'),
      before: z.unknown().optional().describe('Stored value.'),
      after: z.unknown().optional().describe('New value.'),
    }),
  )
  .readonly()

const queuedSchema = z.object({
  kind: z.enum(['edit', 'answer', 'nothing']),
  response: z.string().optional().describe('Id of the response.'),
  reason: z.string().optional(),
})

/** The result of one replay. */
export const replayReportSchema = z
  .object({
    message: z.int().describe('The gateway’s number of the message.'),
    id: z.string().describe('The peer’s id of the message.'),
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
    not_called: z
      .string()
      .optional()
      .describe(
        'Why there is no new answer: the gateway did not call the agent, or left out its calls to other agents.',
      ),
    answer: z.array(z.unknown()).readonly().optional().describe('Parts of the new answer, if it differs.'),
    queued: queuedSchema.optional().describe('The effect of `commit`.'),
  })
  .meta({ id: 'ReplayReport' })

export const replayPageSchema = z.object({
  items: z.array(replayReportSchema).readonly(),
  next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
})

/** One member in which two documents differ. `before` or `after` is absent if the document has no such member. */
export type ReplayChange = Readonly<z.infer<typeof changesSchema>[number]>
/** The answer or change that a replay has queued. */
export type QueuedAnswer = Readonly<z.infer<typeof queuedSchema>>
export type ReplayReport = Readonly<z.infer<typeof replayReportSchema>>
export type ReplayPage = Readonly<z.infer<typeof replayPageSchema>>
