import type {
  DeliveryAttempt,
  DeliveryRecord,
  IntakeTrace,
  MessageRecord,
  MessageSummary,
  Proof,
  Refusal,
  RefusalCode,
  TurnAttempt,
  TurnRecord,
} from '@postern/core'
import { normalizedMessageSchema, normalizedResponseSchema, rejectionCodes, tokenUsageSchema } from '@postern/core'
import { z } from 'zod'
import { deliveryStates, messageStates } from './states.ts'

const instantMs = z.int().describe('ms since 1970-01-01 UTC.')
const durationMs = z.number().describe('ms')

const verdictSchema: z.ZodType<Proof['verdict']> = z.enum([
  'pass',
  'fail',
  'none',
  'neutral',
  'softfail',
  'policy',
  'temperror',
  'permerror',
  'unverifiable',
])

const intakeTraceSchema: z.ZodType<IntakeTrace> = z
  .object({
    received_at: instantMs,
    sent_at: instantMs.optional().describe('When its peer claims to have sent it.'),
    steps: z.array(
      z.object({
        kind: z.string().describe('As of a proof; `resolve`, `normalize` and `rules` are the gateway’s own steps.'),
        verdict: verdictSchema,
        key_id: z.string().optional(),
        key_from: z
          .enum(['fetched', 'cache', 'dns', 'config', 'message'])
          .optional()
          .describe('Where the key came from.'),
        key_digest: z.string().optional().describe('SHA-256 of the key of then, base64url.'),
        after: z.number().describe('When it began, ms after `received_at`.'),
        ms: durationMs,
      }),
    ),
    admitted_at: instantMs.optional(),
  })
  .meta({ id: 'IntakeTrace' })

const turnAttemptSchema: z.ZodType<TurnAttempt> = z
  .object({
    attempt: z.int().describe('1 for the first.'),
    leased_at: instantMs,
    called_at: instantMs.optional().describe('When the gateway called the agent; absent when it did not.'),
    first_output_at: instantMs.optional().describe('When the first piece of its answer came.'),
    ended_at: instantMs,
    outcome: z.enum([
      'answered',
      'silent',
      'failed',
      'unavailable',
      'timed_out',
      'canceled',
      'deleted',
      'interrupted',
      'edited',
      'shut_down',
      'lost',
    ]),
    given: z
      .object({
        history: z.array(z.int()).describe('Numbers of the entries in its history, oldest first.'),
        digest: z.string().describe('SHA-256 of the message that the agent got, base64url.'),
      })
      .optional(),
    tools: z.array(z.object({ name: z.string(), ms: durationMs.optional(), ok: z.boolean() })).optional(),
    usage: z.array(tokenUsageSchema).optional().describe('Tokens of each model in the turn.'),
    error: z
      .object({
        name: z.string(),
        message: z.string(),
        stack: z.string().optional(),
        file: z.string().optional().describe('Of the first line of the stack that is the agent’s own.'),
        line: z.int().optional(),
      })
      .optional(),
    next_at: instantMs.optional().describe('Time of the next attempt.'),
  })
  .meta({ id: 'TurnAttempt' })

const turnRecordSchema: z.ZodType<TurnRecord> = z
  .object({
    attempts: z.array(turnAttemptSchema).describe('Oldest first; of very many the first and the last.'),
    due_at: instantMs.optional().describe('When a worker may take it; absent while it waits behind another one.'),
    is_leased: z.boolean().describe('Somebody works on it now.'),
    ended_at: instantMs.optional(),
  })
  .meta({ id: 'Turn' })

const deliveryAttemptSchema: z.ZodType<DeliveryAttempt> = z
  .object({
    attempt: z.int().describe('1 for the first.'),
    at: instantMs,
    ms: durationMs,
    outcome: z.enum(['sent', 'later', 'dead']),
    status: z.int().optional().describe('Of HTTP, or the reply code of SMTP; absent when no answer came.'),
    reply_line: z.string().optional().describe('The first line of the far side’s answer.'),
    error: z.string().optional().describe('Why the gateway did not send it.'),
    next_at: instantMs.optional().describe('When the next one is due.'),
  })
  .meta({ id: 'DeliveryAttempt' })

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
