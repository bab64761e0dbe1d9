import type { DeliveryAttempt, IntakeTrace, Proof, TurnAttempt, TurnRecord } from '@postern/core'
import { tokenUsageSchema } from '@postern/core'
import { z } from 'zod'

const instantMs = z.int().describe('ms since 1970-01-01 UTC.')
const durationMs = z.number().describe('ms')

export const verdictSchema: z.ZodType<Proof['verdict']> = z.enum([
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

export const intakeTraceSchema: z.ZodType<IntakeTrace> = z
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

export const turnRecordSchema: z.ZodType<TurnRecord> = z
  .object({
    attempts: z.array(turnAttemptSchema).describe('Oldest first; of very many the first and the last.'),
    due_at: instantMs.optional().describe('When a worker may take it; absent while it waits behind another one.'),
    is_leased: z.boolean().describe('Somebody works on it now.'),
    ended_at: instantMs.optional(),
  })
  .meta({ id: 'Turn' })

export const deliveryAttemptSchema: z.ZodType<DeliveryAttempt> = z
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
