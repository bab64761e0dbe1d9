// Describes the acts of an agent that answer no message: posts, replies, edits, deletions and reactions.
import { z } from 'zod'
import { channelNameSchema } from '../message.ts'
import { givenPartSchema } from '../part.ts'
import { visibilities } from '../visibility.ts'

/** A post of its own, to those who follow the agent. */
const agentPostSchema = z.object({
  /** `post`: a post to all who follow the agent. */
  act: z.literal('post'),
  /** Id of the post, so that the agent can edit it later; default: made by the gateway. */
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /** Its content. */
  parts: z.array(givenPartSchema).min(1),
  /** Its audience; `direct` reaches only the people that it mentions; default: `public`. */
  visibility: z.enum(visibilities).optional(),
  /** The people that it mentions, `@name@domain`. */
  mentions: z.array(z.string()).optional(),
  /** A content warning; of a mail, its subject. */
  subject: z.string().optional(),
  /** Send it by this channel as a direct message to those it mentions, if the operator allows that. */
  via: channelNameSchema.optional(),
})

/** Further words in a conversation, without a message to answer. */
const agentReplySchema = z.object({
  /** `reply`: goes on in a conversation, by its own channel. */
  act: z.literal('reply'),
  /** Id of the reply, so that the agent can edit it later; default: made by the gateway. */
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /** `thread_id` of the conversation. */
  thread: z.string(),
  /** The words. */
  parts: z.array(givenPartSchema).min(1),
})

/** Other words for something the agent said earlier. */
const agentEditSchema = z.object({
  /** `edit`: other words for something the agent said. */
  act: z.literal('edit'),
  /** Id of the response or post. */
  response: z.string(),
  /** The new words. */
  parts: z.array(givenPartSchema).min(1),
})

const agentDeleteSchema = z.object({
  /** `delete`: take back something the agent said. */
  act: z.literal('delete'),
  /** Id of the response or post. */
  response: z.string(),
})

const reactions = ['like', 'unlike', 'boost', 'unboost'] as const

/** A reaction of an agent to a message. */
const agentReactionSchema = z.object({
  /** A reaction to a message. */
  act: z.enum(reactions),
  /** Id of a message to this agent; default: the one it answers. */
  message: z.string().optional(),
})

/** An action of an agent besides answering. It becomes durable together with the answer, or not at all. */
export const agentActionSchema = z.discriminatedUnion('act', [
  agentPostSchema,
  agentReplySchema,
  agentEditSchema,
  agentDeleteSchema,
  agentReactionSchema,
])

export type Reaction = (typeof reactions)[number]
export type AgentPost = z.infer<typeof agentPostSchema>
export type AgentReply = z.infer<typeof agentReplySchema>
export type AgentEdit = z.infer<typeof agentEditSchema>
export type AgentDelete = z.infer<typeof agentDeleteSchema>
export type AgentReaction = z.infer<typeof agentReactionSchema>
export type AgentAction = z.infer<typeof agentActionSchema>
