import { z } from 'zod'

const changesSchema = z
  .array(
    z.object({
      path: z.string().describe('Member that differs, as `parts.0.content`; empty: the whole.'),
      before: z.unknown().optional().describe('As the store has it.'),
      after: z.unknown().optional().describe('As it is now.'),
    }),
  )
  .readonly()

const queuedSchema = z.object({
  kind: z.enum(['edit', 'answer', 'nothing']),
  response: z.string().optional().describe('Id of the response.'),
  reason: z.string().optional(),
})

/** What came of one message. */
export const replayReportSchema = z
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
    answer: z
      .array(z.unknown())
      .readonly()
      .optional()
      .describe('Parts of what the agent says now, where that differs.'),
    queued: queuedSchema.optional().describe('What `commit` did.'),
  })
  .meta({ id: 'ReplayReport' })

export const replayPageSchema = z.object({
  items: z.array(replayReportSchema).readonly(),
  next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
})

/** One place in which two documents differ. A member that is absent is absent here, too. */
export type ReplayChange = Readonly<z.infer<typeof changesSchema>[number]>
/** What a replay has queued. */
export type Queued = Readonly<z.infer<typeof queuedSchema>>
export type ReplayReport = Readonly<z.infer<typeof replayReportSchema>>
export type ReplayPage = Readonly<z.infer<typeof replayPageSchema>>
