// Describes the actions of an agent besides its answers: posts, replies, edits, deletions and reactions.
import { z } from 'zod'
import { channelNameSchema } from '../message.ts'
import { givenPartSchema } from '../part.ts'
import { visibilities } from '../visibility.ts'

/** A post to the followers of the agent, or a direct message to the people it mentions. */
const agentPostSchema = z.object({
  /** `post`: a post to all who follow the agent. */
  act: z.literal('post'),
  /** Id of the post, so that the agent can edit it later; default: chosen by the gateway. */
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
  /** The channel that sends it as a direct message to the people it mentions, if the operator allows that. */
  via: channelNameSchema.optional(),
})

/** A further message in a conversation, which answers no new message. */
const agentReplySchema = z.object({
  /** `reply`: continues a conversation over its own channel. */
  act: z.literal('reply'),
  /** Id of the reply, so that the agent can edit it later; default: chosen by the gateway. */
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /** `thread_id` of the conversation. */
  thread: z.string(),
  /** Its content. */
  parts: z.array(givenPartSchema).min(1),
})

/** New content for an earlier response or post of the agent. */
const agentEditSchema = z.object({
  /** `edit`: replaces the content of something the agent said. */
  act: z.literal('edit'),
  /** Id of the response or post. */
  response: z.string(),
  /** The new content. */
  parts: z.array(givenPartSchema).min(1),
})

const agentDeleteSchema = z.object({
  /** `delete`: withdraws something the agent said. */
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
