// Describes an agent's answer, complete and partial.

import { z } from 'zod'
import { agentActionSchema } from './actions/agent-action.ts'
import type { GivenPart } from './part.ts'
import { givenPartSchema, partSchema, traceSchema } from './part.ts'
import { tokenUsageSchema } from './token-usage.ts'
import { visibilities } from './visibility.ts'

export function isStageName(name: unknown): name is string {
  return typeof name === 'string' && stageNamePattern.test(name)
}

const stageNamePattern = /^[\p{L}\p{N}_.-](?:[\p{L}\p{N}_. -]{0,62}[\p{L}\p{N}_.-])?$/u

/** The maximum number of bytes of one answer: its text and its other parts, without the bytes of files. */
export const maxAnswerBytes = 4 * 1024 * 1024

export const responseStatuses = [
  'completed',
  'input_required',
  'auth_required',
  'rejected',
  'failed',
  'working',
] as const

/** The members of an answer beside its parts. */
const sharedShape = {
  /** Further recipients, `@name@domain`; the channel's `mention_relay` brings them in. */
  mentions: z.array(z.string()).optional(),
  /** Its audience on the fediverse; default: that of the message, and never a wider one. */
  visibility: z.enum(visibilities).optional(),
  /** A content warning; of a mail, its subject. */
  subject: z.string().optional(),
  /** Answer another agent with a bare message instead of a task (A2A); elsewhere without effect. */
  as: z.literal('message').optional(),
}

/** The background of an answer. It is stored with the answer, and only web chats and the history show it. */
const chatOnlyShape = {
  /** The member that speaks, if several agents share an address. */
  speaker: z.string().max(128).optional(),
  /** The state that a chat shows beside the agent's text (AG-UI: `STATE_SNAPSHOT`, `STATE_DELTA`); the last one counts. */
  chat_state: z.record(z.string(), z.json()).optional(),
  /** The data that a chat stores with the message and shows as it is (AG-UI: `metadata`). */
  chat_metadata: z.record(z.string(), z.json()).optional(),
  /** Tool calls that are not part of the answer, such as those by which agents hand over. */
  trace: traceSchema.optional(),
  /** The tokens that the answer used, one entry for each provider and model; pieces of a stream add up. */
  usage: z.array(tokenUsageSchema).max(100).optional(),
}

/** A complete answer of an agent. The shape is ours. */
export const normalizedResponseSchema = z
  .object({
    /** Id of the response, chosen by the gateway. */
    id: z.string(),
    /** The conversation. */
    thread_id: z.string(),
    /** Id of the message that it answers. */
    in_reply_to: z.string(),
    /** The agent, `@agent@domain`. */
    sender: z.string(),
    /** Its content. */
    parts: z.array(partSchema),
    /** The outcome of the turn: the state of the A2A task, elsewhere text. */
    status: z.enum(responseStatuses),
    ...sharedShape,
    ...chatOnlyShape,
    /** Names in the text that count as mentions, `@name@domain`; other names are text. Absent: every name counts. */
    text_mentions: z.array(z.string()).optional(),
    /** Number of parts that were a result before the agent asked, refused or failed. */
    results: z.number().int().positive().optional(),
    /** The streamed part of an answer that failed. */
    unfinished: z.array(partSchema).optional(),
    /** The time at which the agent gave it. */
    created_at: z.iso.datetime(),
  })
  .refine(({ parts, status }) => parts.length > 0 || status !== 'completed', {
    path: ['parts'],
    message: 'a completed response needs at least one part',
  })

/** Text of a model that is not for people. */
const withheldTextSchema = z.object({
  /** Its kind: `reasoning`, `tool_call`, `control_token` or `data_block`. */
  kind: z.string().max(64),
  /** The text. */
  text: z.string(),
})

/** The members of an answer that an agent wants to decide itself; the gateway fills in the rest. */
export const partialResponseSchema = z.object({
  /** Its content. */
  parts: z.array(givenPartSchema).optional(),
  /** The outcome of the turn; default: `completed`. */
  status: z.enum(responseStatuses).optional(),
  ...sharedShape,
  /** Number of parts that were a result before the agent asked; set for the pieces of a stream. */
  results: z.number().int().positive().optional(),
  /** The agent's actions besides answering. */
  acts: z.array(agentActionSchema).max(50).optional(),
  /** The notes of the turn for the transcript, as with `context.note`. */
  notes: z
    .array(
      z.looseObject({
        /** Type of the note. */
        type: z.string(),
      }),
    )
    .max(500)
    .optional(),
  /** Text of a model behind the agent that people do not get; the record keeps its beginning for the operator. */
  withheld: z.array(withheldTextSchema).max(1_000).optional(),
  /** The stage that a stream has reached, as with `context.stage`. */
  stage: z.string().refine(isStageName).optional(),
  ...chatOnlyShape,
})

export type ResponseStatus = (typeof responseStatuses)[number]
export type NormalizedResponse = z.infer<typeof normalizedResponseSchema>
export type PartialResponse = z.infer<typeof partialResponseSchema>
/** A response as an agent returns it. */
export interface GivenResponse extends Omit<z.input<typeof partialResponseSchema>, 'parts'> {
  readonly parts?: readonly GivenPart[] | undefined
}
