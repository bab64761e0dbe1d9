// Describes a message in the form that all channels share.
import { z } from 'zod'
import { identityEvidenceSchema } from './identity/identity.ts'
import { partSchema } from './part.ts'
import { policyResolutionSchema } from './policy/policy.ts'

/** `none`, or one of the channel's own methods (`ChannelDescriptor.authMethods`). */
const authMethodSchema = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
/** The name of a channel in the gateway's list. */
export const channelNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)

export const messageKinds = [
  'message',
  'edit',
  'delete',
  'reaction',
  'follow',
  'unfollow',
  'link',
  'unlink',
  'cancel',
] as const

/** The profile of a sender, for display only and never for authorization. */
const senderProfileSchema = z.looseObject({
  /** Name the sender shows. */
  display_name: z.string().optional(),
  /** Name of the account. */
  username: z.string().optional(),
  /** Page of the account. */
  url: z.string().optional(),
  /** Picture of the account. */
  avatar: z
    .looseObject({
      /** Address of the picture. */
      url: z.string(),
      /** Its media type. */
      mime_type: z.string().optional(),
    })
    .optional(),
  /** Language, such as `de-AT`. */
  locale: z.string().optional(),
  /** Time zone, such as `Europe/Vienna`. */
  timezone: z.string().optional(),
  /** Platform of the account. */
  provider: z.string().optional(),
  /** Id of the account on its platform. */
  provider_subject: z.string().optional(),
  /** The time at which the gateway read the profile, ISO 8601. */
  fetched_at: z.string().optional(),
})

const senderSchema = z
  .object({
    /** The sender's address, `@name@domain`; proven only if `verified` is true. */
    address: z.string(),
    /** Name the sender shows. */
    display_name: z.string().optional(),
    /** The profile as the sender presents it; for display only, never for authorization. */
    profile: senderProfileSchema.optional(),
    /** The method by which the transport proved the sender; `none` if it did not. */
    auth_method: authMethodSchema,
    /** True if the transport proved the sender. */
    verified: z.boolean(),
    /** Id of the key that proved it. */
    key_id: z.string().optional(),
    /** The proven identities of the sender; authorization reads these. */
    identities: z.array(identityEvidenceSchema).optional(),
  })
  .refine(sender => sender.auth_method !== 'none' || !sender.verified, 'auth_method "none" cannot be verified')
  .refine(
    sender => !sender.verified || sender.identities?.some(({ proof }) => proof.type === 'transport'),
    'a verified sender needs an identity proven by the transport',
  )

export const mentionRelaySchema = z.discriminatedUnion('kind', [
  z.object({
    /** Place where an answer must mention people so that they get it. */
    kind: z.literal('inline'),
  }),
  z.object({
    kind: z.literal('recipient-field'),
    /** Fields of the wire that name recipients. */
    fields: z.array(z.string()),
  }),
  z.object({
    kind: z.literal('addressing'),
    /** Fields of the wire's envelope that name recipients. */
    envelope_fields: z.array(z.string()),
    /** True if the text has to name them, too. */
    also_inline: z.boolean(),
  }),
  z.object({ kind: z.literal('none') }),
])

const agentChainSchema = z.object({
  /** Number of agents that have passed the message on. */
  hop: z.number().int().positive(),
  /** The maximum number of agents that may pass it on; never more than `limits.loop.max_hops`. */
  max_hops: z.number().int().positive(),
  /** True if the agent must conclude, and must not call another agent. */
  is_final: z.boolean(),
})

const recipientCapabilitiesSchema = z.object({
  /** The way an answer brings a mentioned recipient in; `none` if only the gateway or the agent can call them. */
  mention_relay: mentionRelaySchema,
  /** Position in a chain of agents that call each other. */
  agent_chain: agentChainSchema.optional(),
})

/** An earlier writer in the thread, with their proof at that time (ours). The members of the proof are absent if nothing was proven. */
const historicalSenderSchema = z.object({
  /** The writer's address, `@name@domain`. */
  address: z.string(),
  /** Name the writer showed. */
  display_name: z.string().optional(),
  /** True if the transport proved the writer then. */
  verified: z.boolean().optional(),
  /** The method of that proof. */
  auth_method: authMethodSchema.optional(),
  /** The proven identities of the writer then. */
  identities: z.array(identityEvidenceSchema).optional(),
})

/** An earlier turn in the thread, as the agent sees it. */
const historicalMessageSchema = z.object({
  /** Id of the message or the response. */
  id: z.string().optional(),
  /** `assistant` for the agent itself, `user` for everybody else. */
  role: z.enum(['user', 'assistant']),
  /** The writer; the first writer if there are several, verified only if all are. */
  sender: historicalSenderSchema,
  /** All writers of the turn in order, if there are several or their proofs differ. */
  writers: z.array(historicalSenderSchema).optional(),
  /** Its content; a text part `@name@domain:` precedes the parts of the next writer. */
  parts: z.array(partSchema),
  /** Its time, ISO 8601. */
  timestamp: z.string(),
  /** The channel, if it is from another conversation of a person who has linked their addresses. */
  via: channelNameSchema.optional(),
})

/** An earlier message of the same sender that is answered together with this one (ours). */
const mergedMessageSchema = z.object({
  /** Id of the earlier message. */
  id: z.string(),
  /** The time of its arrival. */
  received_at: z.iso.datetime(),
  /** Number of its own parts; all parts are in the order of the messages, those of the message itself last. */
  part_count: z.number().int().nonnegative(),
})

/** The phase of the caller's plan to which a message belongs (ours). The agent finds its earlier results by it. */
const phaseShape = {
  /** Phase of the caller's plan to which the message belongs. */
  phase_id: z.number().int().nonnegative().optional(),
  /** The phase before it, whose results the agent may look for. */
  previous_phase_id: z.number().int().nonnegative().optional(),
}

/** The calling turn of another agent of this gateway (ours). */
const calledBySchema = z.object({
  /** The calling agent. */
  agent: z.string(),
  /** Number of the message that the calling agent is answering. */
  message: z.number().int(),
  /** Number of the message with which the calls began, if that is another one. */
  first_message: z.number().int().optional(),
  /** Correlation id of the calling turn in the log. */
  correlation_id: z.string(),
  /** True if it calls on behalf of the sender of that message. */
  on_behalf: z.boolean().optional(),
})

const linkedPersonSchema = z.object({
  /** The agent's key of the person, as `context.person.id`. */
  id: z.string(),
  /** The person's addresses. */
  addresses: z.array(
    z.object({
      /** The channel. */
      via: channelNameSchema,
      /** The address there, `@name@domain`. */
      address: z.string(),
    }),
  ),
})

/** The persons that a link joined, or that its end separated (ours). */
const personChangeSchema = z.object({
  /** The persons before it: two for a `link`, one for an `unlink`. */
  before: z.array(linkedPersonSchema),
  /** The persons after it: one for a `link`, two or more for an `unlink`. */
  after: z.array(linkedPersonSchema),
})

/** The form of message that every channel creates and every agent reads (NormalizedMessage v0.1; `kind` is ours). */
export const normalizedMessageSchema = z.object({
  /** Id of the message on its wire. */
  id: z.string(),
  /** Id of the conversation, chosen by the gateway; it works only for people who may read the conversation. */
  thread_id: z.string(),
  /** Id by which the wire named the conversation when it began. Peers choose it, so do not use it as a key of a memory. */
  thread_source: z.string().optional(),
  /** Id of the message that it answers. */
  in_reply_to: z.string().optional(),
  /** The sender, with the proof of their identity. */
  sender: senderSchema,
  /** The agent it is for, `@agent@domain`. */
  recipient: z.string(),
  /** Its content. */
  parts: z.array(partSchema),
  /** The conversation before it, oldest first, trimmed by the gateway. */
  history: z.array(historicalMessageSchema).optional(),
  /** The possibilities of an answer on this channel. */
  recipient_capabilities: recipientCapabilitiesSchema,
  /** The channel. */
  received_via: channelNameSchema,
  /** The time at which the gateway accepted it. */
  received_at: z.iso.datetime(),
  /** The document as it arrived, without credentials: JSON-LD, an A2A request, or the text of a mail. */
  raw: z.unknown(),
  /** The decision on a requirement of the agent, if the message contains one. */
  policy_resolution: policyResolutionSchema.optional(),
  /** The kind of event; agents get only the kinds that `receives` names. */
  kind: z.enum(messageKinds).default('message').optional(),
  /** The persons that a `link` or an `unlink` concerns, before and after. */
  person_change: personChangeSchema.optional(),
  /** The calling turn, if another agent of this gateway sent the message. */
  called_by: calledBySchema.optional(),
  /** The sender on whose behalf that agent calls, with their proof there; they did not send this message. */
  on_behalf_of: senderSchema.optional(),
  /** Earlier messages of the same sender that share the answer to this one. */
  merged: z.array(mergedMessageSchema).optional(),
  ...phaseShape,
})

/** Returns the id by which the wire names the conversation of a message. A message that was written by hand may have only a `thread_id`. */
export function threadSourceOf({
  thread_id,
  thread_source = thread_id,
}: Pick<NormalizedMessage, 'thread_id' | 'thread_source'>): string {
  return thread_source
}

export type AuthMethod = z.infer<typeof authMethodSchema>
export type MessageKind = (typeof messageKinds)[number]
export type ChannelName = z.infer<typeof channelNameSchema>
export type Sender = z.infer<typeof senderSchema>
export type SenderProfile = z.infer<typeof senderProfileSchema>
export type MentionRelay = z.infer<typeof mentionRelaySchema>
export type AgentChain = z.infer<typeof agentChainSchema>
export type HistoricalSender = z.infer<typeof historicalSenderSchema>
export type HistoricalMessage = z.infer<typeof historicalMessageSchema>
export type NormalizedMessage = z.infer<typeof normalizedMessageSchema>
