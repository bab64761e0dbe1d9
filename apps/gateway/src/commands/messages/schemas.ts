import type { DeliveryRecord, MessageRecord, MessageSummary, Proof, Refusal, RefusalCode } from '@postern/core'
import { normalizedMessageSchema, normalizedResponseSchema, rejectionCodes } from '@postern/core'
import { z } from 'zod'
import { deliveryStates, messageStates } from './states.ts'
import { deliveryAttemptSchema, intakeTraceSchema, turnRecordSchema, verdictSchema } from './trace-schemas.ts'

export const refusalCodes: readonly RefusalCode[] = [...rejectionCodes, 'unavailable', 'internal']
const instant = z.string().describe('ISO 8601 UTC.')

export const messageSummarySchema: z.ZodType<MessageSummary> = z
  .object({
    message: z.int().describe('The gateway’s number of it.'),
    id: z.string().describe('The peer’s id of it.'),
    via: z.string().describe('Channel.'),
    agent: z.string(),
    sender: z.string().describe('Address of the sender.'),
    verified: z.boolean().describe('Whether the transport proved the sender.'),
    state: z.enum(messageStates),
    received_at: instant,
    preview: z.string().describe('Its first words.'),
    correlation_id: z.string().describe('The word that its lines in the log share.'),
    flags: z.array(z.string()).describe('Why no agent got it, or what is odd about it.'),
  })
  .meta({ id: 'MessageSummary' })

const proofSchema: z.ZodType<Proof> = z
  .object({
    kind: z.string().describe('The kind of check, such as `http-signature`, `dkim` or `jwt`.'),
    verdict: verdictSchema,
    reason: z.string().optional(),
    key_id: z.string().optional(),
  })
  .catchall(z.json().optional())
  .meta({ id: 'Proof' })

export const deliveryRecordSchema: z.ZodType<DeliveryRecord> = z
  .object({
    id: z.string(),
    via: z.string().describe('Channel.'),
    to: z.string().describe('Where it goes.'),
    state: z.enum(deliveryStates),
    attempts: z.int().describe('How many attempts it had.'),
    last_error: z.string().optional().describe('Why the last attempt failed.'),
    next_attempt_at: instant.optional().describe('Time of the next attempt, ISO 8601 UTC.'),
    queued_at: instant,
    ended_at: instant.optional().describe('When it was over, ISO 8601 UTC.'),
    attempt_log: z.array(deliveryAttemptSchema).describe('Oldest first; of very many the newest.'),
    message_id: z.string().describe('Id of the message that it answers.'),
    wire: z.json().describe('What the gateway sends, without signatures and secrets.'),
  })
  .meta({ id: 'Delivery' })

export const messageRecordSchema: z.ZodType<MessageRecord> = z
  .object({
    number: z.int().describe('The gateway’s number of it.'),
    thread: z.int().describe('Number of its conversation.'),
    message: normalizedMessageSchema.meta({ id: 'NormalizedMessage' }),
    proofs: z.array(proofSchema).describe('Each check of the transport’s proof.'),
    state: z.enum(messageStates),
    flags: z.array(z.string()).describe('Why no agent got it, or what is odd about it.'),
    error: z.string().optional().describe('Why it failed.'),
    response: normalizedResponseSchema.meta({ id: 'NormalizedResponse' }).nullable(),
    deliveries: z.array(deliveryRecordSchema),
    duplicates: z.int().describe('How often the peer sent it again.'),
    correlation_id: z.string().describe('The word that its lines in the log share.'),
    merged_into: z.int().optional().describe('Number of the later message whose answer is for both.'),
    namesakes: z.array(z.int()).optional().describe('Numbers of further messages with the same id.'),
    trace: intakeTraceSchema.optional().describe('Its intake; absent once its author has taken it back.'),
    turn: turnRecordSchema
      .optional()
      .describe('Absent when it has none, or shares the answer of another (`merged_into`).'),
  })
  .meta({ id: 'MessageRecord' })

export const refusalRecordSchema: z.ZodType<Refusal & { readonly place: number }> = z
  .object({
    place: z.int().describe('Number of it.'),
    at: instant,
    via: z
      .string()
      .describe('Channel; `gateway` for pages, discovery, files and this API, of which only failures are listed.'),
    from: z.string().describe('The peer’s network address or host name.'),
    code: z
      .enum(refusalCodes)
      .describe('`unavailable`: something we depend on did not answer; `internal`: a fault of ours.'),
    reason: z.string(),
    endpoint: z.string().optional().describe('Where it came in: `POST /inbox`, `SMTP`, `SendMessage`.'),
    status: z.int().optional().describe('Status of the answer: of HTTP, or the reply code of SMTP.'),
    claimed_sender: z.string().optional().describe('Who it says that it is from; nobody has proven it.'),
    agent: z.string().optional(),
    peer_id: z.string().optional().describe('The peer’s id of what it brought.'),
  })
  .meta({ id: 'Refusal' })
