// Defines the schemas of messages, turns, deliveries, conversations and refusals in the operator's API.
import type { DeliveryAttempt, IntakeTrace, Proof, TurnAttempt, TurnRecord, TurnStep } from '@postern/message'
import {
  normalizedMessageSchema,
  normalizedResponseSchema,
  rejectionCodes,
  responseStatuses,
  tokenUsageSchema,
} from '@postern/message'
import type {
  ConversationSummary,
  DeliveryRecord,
  MessageRecord,
  MessageSummary,
  Refusal,
  RefusalCode,
} from '@postern/pipeline'
import { z } from 'zod'
import { instantSchema } from '../../api/page.ts'
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
    sent_at: instantMs.optional().describe('Time of sending, as the peer claims.'),
    steps: z.array(
      z.object({
        kind: z.string().describe('Kind of the proof; `resolve`, `normalize` and `rules` are the gateway’s own steps.'),
        verdict: verdictSchema,
        key_id: z.string().optional(),
        key_from: z
          .enum(['fetched', 'cache', 'dns', 'config', 'message'])
          .optional()
          .describe('Where the key came from.'),
        key_digest: z.string().optional().describe('SHA-256 of the key at that time, base64url.'),
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
      'empty_answer',
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
    reason: z
      .enum(['agent_crashes', 'agent_removed', 'answer_invalid', 'answer_unstorable', 'not_received', 'said_nothing'])
      .optional()
      .describe('The reason, where `outcome` does not say it.'),
    deadline_ms: durationMs.optional().describe('The time that the agent had, if it was too slow.'),
    given: z
      .object({
        history: z.array(z.int()).describe('Numbers of the entries in its history, oldest first.'),
        digest: z.string().describe('SHA-256 of the message that the agent got, base64url.'),
      })
      .optional(),
    tools: z
      .array(
        z.object({
          name: z.string(),
          at: instantMs.optional().describe('Its beginning; absent in records of older versions.'),
          ms: durationMs.optional().describe('Absent while it waits, or if the agent told of it afterwards.'),
          ok: z.boolean(),
        }),
      )
      .optional()
      .describe('Calls of tools, also of those that people do not see; the first 50.'),
    models: z
      .array(
        z.object({
          name: z.string(),
          at: instantMs,
          ms: durationMs,
          ok: z.boolean(),
          input_tokens: z.int().optional(),
          output_tokens: z.int().optional(),
        }),
      )
      .optional()
      .describe('Requests to models; the first 50.'),
    usage: z.array(tokenUsageSchema).optional().describe('Tokens of each model in the turn.'),
    withheld: z
      .array(z.object({ kind: z.string(), text: z.string() }))
      .optional()
      .describe('Output of a model that people do not get: reasoning, calls of tools, control tokens.'),
    refused_acts: z
      .array(
        z.object({
          act: z.string().describe('`post`, `edit`, `delete` or a reaction.'),
          via: z.string().optional().describe('Channel, if the agent names one.'),
          code: z.enum(['forbidden', 'malformed', 'no_recipient', 'unsupported']),
          message: z.string(),
          key: z.string().optional().describe('Key of the configuration that would allow it.'),
        }),
      )
      .optional()
      .describe('Actions of the agent besides answering that the gateway refused.'),
    error: z
      .object({
        name: z.string(),
        message: z.string(),
        stack: z.string().optional(),
        file: z.string().optional().describe('File of the first line of the stack in the agent’s own code.'),
        line: z.int().optional(),
      })
      .optional(),
    next_at: instantMs.optional().describe('Time of the next attempt.'),
  })
  .meta({ id: 'TurnAttempt' })

const turnRecordSchema: z.ZodType<TurnRecord> = z
  .object({
    attempts: z
      .array(turnAttemptSchema)
      .describe('Oldest first. If there are very many, only the first and the last ones.'),
    due_at: instantMs
      .optional()
      .describe('Time from which a worker may take the turn; absent while it waits for another one.'),
    is_leased: z.boolean().describe('A worker runs the turn now.'),
    ended_at: instantMs.optional(),
  })
  .meta({ id: 'Turn' })

const turnStepSchema: z.ZodType<TurnStep> = z
  .object({
    kind: z.enum(['stage', 'call', 'note']),
    name: z.string().describe('Name of the stage, address of the called agent, or kind of the note.'),
    at: instantMs,
    ms: durationMs.optional().describe('Absent while the step goes on, and for a note.'),
    message: z.int().optional().describe('Number of the message that a call to an agent of this gateway became.'),
    error: z.string().optional().describe('Why a call has failed.'),
  })
  .meta({ id: 'TurnStep' })

const deliveryAttemptSchema: z.ZodType<DeliveryAttempt> = z
  .object({
    attempt: z.int().describe('1 for the first.'),
    at: instantMs,
    ms: durationMs,
    outcome: z.enum(['sent', 'later', 'dead']),
    status: z.int().optional().describe('Status of HTTP, or reply code of SMTP; absent without an answer.'),
    reply_line: z.string().optional().describe('The first line of the far side’s answer.'),
    error: z.string().optional().describe('Why the gateway did not send it.'),
    next_at: instantMs.optional().describe('Time of the next attempt.'),
  })
  .meta({ id: 'DeliveryAttempt' })

export const refusalCodes: readonly RefusalCode[] = [...rejectionCodes, 'unavailable', 'internal']

export const messageSummarySchema: z.ZodType<MessageSummary> = z
  .object({
    message: z.int().describe('The gateway’s number of the message.'),
    thread: z.int().describe('Number of its conversation.'),
    id: z.string().describe('The peer’s id of the message.'),
    via: z.string().describe('Channel.'),
    agent: z.string(),
    sender: z.string().describe('Address of the sender.'),
    verified: z.boolean().describe('Whether the transport proved the sender.'),
    state: z.enum(messageStates),
    status: z.enum(responseStatuses).optional().describe('Status of the answer; absent without one.'),
    received_at: instantSchema,
    answered_at: instantSchema.optional().describe('When the agent gave its answer, ISO 8601 UTC.'),
    preview: z.string().describe('The first words of the message.'),
    correlation_id: z.string().describe('The word that the message’s lines in the log share.'),
    flags: z.array(z.string()).describe('Reasons why no agent got the message, and other remarks about it.'),
  })
  .meta({ id: 'MessageSummary' })

export const conversationSchema: z.ZodType<ConversationSummary> = z
  .object({
    thread: z.int().describe('Number of the conversation, as in `thread` of a message.'),
    agent: z.string(),
    via: z.string().describe('Channel.'),
    sender: z.string().describe('Address of the sender of its first message.'),
    first_message: z.int().describe('Number of its first message.'),
    last_message: z.int().describe('Number of its newest message.'),
    began_at: instantSchema,
    last_at: instantSchema.describe('When the newest message came, ISO 8601 UTC.'),
  })
  .meta({ id: 'Conversation' })

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
    next_attempt_at: instantSchema.optional().describe('Time of the next attempt, ISO 8601 UTC.'),
    queued_at: instantSchema,
    ended_at: instantSchema.optional().describe('When it was over, ISO 8601 UTC.'),
    attempt_log: z.array(deliveryAttemptSchema).describe('Oldest first. If there are very many, only the newest ones.'),
    message_id: z.string().describe('Id of the message that it answers.'),
    wire: z.json().describe('What the gateway sends, without signatures and secrets.'),
  })
  .meta({ id: 'Delivery' })

export const messageRecordSchema: z.ZodType<MessageRecord> = z
  .object({
    number: z.int().describe('The gateway’s number of the message.'),
    thread: z.int().describe('Number of its conversation.'),
    message: normalizedMessageSchema.meta({ id: 'NormalizedMessage' }),
    proofs: z.array(proofSchema).describe('Each check of the transport’s proof.'),
    state: z.enum(messageStates),
    flags: z.array(z.string()).describe('Reasons why no agent got the message, and other remarks about it.'),
    error: z.string().optional().describe('Why it failed.'),
    response: normalizedResponseSchema.meta({ id: 'NormalizedResponse' }).nullable(),
    deliveries: z.array(deliveryRecordSchema),
    duplicates: z.int().describe('Number of times that the peer sent the message again.'),
    correlation_id: z.string().describe('The word that the message’s lines in the log share.'),
    merged_into: z.int().optional().describe('Number of the later message whose answer is for both.'),
    namesakes: z.array(z.int()).optional().describe('Numbers of further messages with the same id.'),
    trace: intakeTraceSchema.optional().describe('Its intake; absent once its author has taken it back.'),
    turn: turnRecordSchema
      .optional()
      .describe('Absent if the message has no turn, or shares the answer of another (`merged_into`).'),
    steps: z
      .array(turnStepSchema)
      .readonly()
      .optional()
      .describe('What the agent noted in its turn: stages, calls to other agents, and notes.'),
  })
  .meta({ id: 'MessageRecord' })

export const refusalRecordSchema: z.ZodType<Refusal & { readonly number: number }> = z
  .object({
    number: z.int().describe('Number of the refusal.'),
    at: instantSchema,
    via: z
      .string()
      .describe('Channel; `gateway` for pages, discovery, files and this API, of which only failures are listed.'),
    from: z.string().describe('The peer’s network address or host name.'),
    code: z
      .enum(refusalCodes)
      .describe(
        '`unavailable`: a server or store that the gateway needs did not answer; `internal`: a fault of the gateway.',
      ),
    reason: z.string(),
    endpoint: z.string().optional().describe('Endpoint that refused it: `POST /inbox`, `SMTP`, `SendMessage`.'),
    status: z.int().optional().describe('Status of the answer: of HTTP, or the reply code of SMTP.'),
    claimed_sender: z.string().optional().describe('Sender that the message claims, without proof.'),
    agent: z.string().optional(),
    peer_id: z.string().optional().describe('The peer’s id of the message.'),
  })
  .meta({ id: 'Refusal' })
