import { z } from 'zod'
import { visibilities } from './choices.ts'
import { channelNameSchema } from './message.ts'
import { partSchema } from './part.ts'

/** A post of its own, to those who follow the agent. */
const agentPostSchema = z.object({
  /** `post`: a post to all who follow the agent. */
  act: z.literal('post'),
  /** Id of the post, so that the agent can edit it later; default: made by the gateway. */
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /** What it says. */
  parts: z.array(partSchema).min(1),
  /** Who may read it; `direct` reaches only those it mentions; default: `public`. */
  visibility: z.enum(visibilities).optional(),
  /** Whom it mentions, `@name@domain`. */
  mentions: z.array(z.string()).optional(),
  /** A content warning; of a mail, its subject. */
  subject: z.string().optional(),
  /** Send it by this channel as a direct message to those it mentions, if the operator allows that. */
  via: channelNameSchema.optional(),
})

/** Other words for something the agent said earlier. */
const agentEditSchema = z.object({
  /** `edit`: other words for something the agent said. */
  act: z.literal('edit'),
  /** Id of the response or post. */
  response: z.string(),
  /** The new words. */
  parts: z.array(partSchema).min(1),
})

const agentDeleteSchema = z.object({
  /** `delete`: take back something the agent said. */
  act: z.literal('delete'),
  /** Id of the response or post. */
  response: z.string(),
})

export const reactions = ['like', 'unlike', 'boost', 'unboost'] as const

/** What an agent thinks of a message. */
const agentReactionSchema = z.object({
  /** A reaction to a message. */
  act: z.enum(reactions),
  /** Id of a message to this agent; default: the one it answers. */
  message: z.string().optional(),
})

/** An action of an agent besides answering. It becomes durable together with the answer, or not at all. */
export const agentActionSchema = z.discriminatedUnion('act', [
  agentPostSchema,
  agentEditSchema,
  agentDeleteSchema,
  agentReactionSchema,
])

export type Reaction = (typeof reactions)[number]
export type AgentPost = z.infer<typeof agentPostSchema>
export type AgentEdit = z.infer<typeof agentEditSchema>
export type AgentDelete = z.infer<typeof agentDeleteSchema>
export type AgentReaction = z.infer<typeof agentReactionSchema>
export type AgentAction = z.infer<typeof agentActionSchema>
