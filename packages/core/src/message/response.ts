import { z } from 'zod'
import { agentActionSchema } from './agent-action.ts'
import { partSchema, traceSchema } from './part.ts'
import { isStageName } from './stage-name.ts'
import { tokenUsageSchema } from './token-usage.ts'
import { visibilities } from './visibility.ts'

export const responseStatuses = [
  'completed',
  'input_required',
  'auth_required',
  'rejected',
  'failed',
  'working',
] as const

/** What stands behind an answer: kept with it and shown where somebody watches (web chat, history), on no other wire. */
const behindShape = {
  /** Who speaks, where several agents stand behind one address. */
  speaker: z.string().max(128).optional(),
  /** What a chat may show of the agent beside its words (AG-UI: `STATE_SNAPSHOT`, `STATE_DELTA`); the last one stands. */
  chat_state: z.record(z.string(), z.json()).optional(),
  /** What a chat keeps with the message and shows as it is, whatever its names mean (AG-UI: `metadata`). */
  chat_metadata: z.record(z.string(), z.json()).optional(),
  /** Calls that are no part of the answer, such as those by which agents hand over. */
  trace: traceSchema.optional(),
  /** What it cost in tokens, one for each provider and model. Pieces of a stream add up. */
  usage: z.array(tokenUsageSchema).max(100).optional(),
}

/** What an agent says back, complete. The shape is ours. */
export const normalizedResponseSchema = z
  .object({
    id: z.string(),
    thread_id: z.string(),
    in_reply_to: z.string(),
    sender: z.string(),
    parts: z.array(partSchema),
    status: z.enum(responseStatuses),
    mentions: z.array(z.string()).optional(),
    visibility: z.enum(visibilities).optional(),
    subject: z.string().optional(),
    as: z.literal('message').optional(),
    ...behindShape,
    /** How many of the parts were a result before the agent asked, refused or failed; those who watched have them as one. */
    results: z.number().int().positive().optional(),
    /** What was heard of an answer before it failed; those who watched have it, and find it again. */
    unfinished: z.array(partSchema).optional(),
    created_at: z.iso.datetime(),
  })
  .refine(({ parts, status }) => parts.length > 0 || status !== 'completed', {
    path: ['parts'],
    message: 'a completed response needs at least one part',
  })

/** What an agent may hand over: any of the members it wants to decide itself; the gateway fills in the rest. */
export const partialResponseSchema = z.object({
  parts: z.array(partSchema).optional(),
  status: z.enum(responseStatuses).optional(),
  mentions: z.array(z.string()).optional(),
  visibility: z.enum(visibilities).optional(),
  subject: z.string().optional(),
  /** Set where the pieces of a stream are put together. */
  results: z.number().int().positive().optional(),
  /** To another agent that asked: just this, no task to come back to (A2A). Elsewhere it says nothing. */
  as: z.literal('message').optional(),
  acts: z.array(agentActionSchema).max(50).optional(),
  /** As `AgentContext.note`. */
  notes: z
    .array(z.looseObject({ type: z.string() }))
    .max(500)
    .optional(),
  /** Of a piece of a stream: as `AgentContext.stage`. */
  stage: z.string().refine(isStageName).optional(),
  ...behindShape,
})

export type ResponseStatus = (typeof responseStatuses)[number]
export type NormalizedResponse = z.infer<typeof normalizedResponseSchema>
export type PartialResponse = z.infer<typeof partialResponseSchema>
