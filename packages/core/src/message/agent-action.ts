import { z } from 'zod'
import { channelNameSchema } from './message.ts'
import { partSchema } from './part.ts'
import { visibilities } from './visibility.ts'

/** A post of its own, to those who follow the agent. */
const agentPostSchema = z.object({
  act: z.literal('post'),
  /** Made by the gateway unless it is given, so that the post can be edited later: 128 random bits in hexadecimal. */
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  parts: z.array(partSchema).min(1),
  /** `direct` reaches only those it mentions. Default: `public`. */
  visibility: z.enum(visibilities).optional(),
  mentions: z.array(z.string()).optional(),
  /** A content warning; of a mail, its subject. */
  subject: z.string().optional(),
  /** By this channel as a direct message to those it mentions, where the operator allows it, instead of a post. */
  via: channelNameSchema.optional(),
})

/** Other words for something the agent said earlier. */
const agentEditSchema = z.object({
  act: z.literal('edit'),
  /** Id of the response or post. */
  response: z.string(),
  parts: z.array(partSchema).min(1),
})

const agentDeleteSchema = z.object({ act: z.literal('delete'), response: z.string() })

export const reactions = ['like', 'unlike', 'boost', 'unboost'] as const

/** What an agent thinks of a message. */
const agentReactionSchema = z.object({
  act: z.enum(reactions),
  /** Id of a message to this agent; default: the one it is answering. */
  message: z.string().optional(),
})

/** What an agent does beside answering. It becomes durable together with its answer, or not at all. */
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
