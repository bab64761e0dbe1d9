// Describes a message in the one form that all channels share.
import { z } from 'zod'
import { identityEvidenceSchema } from './identity/identity.ts'
import { partSchema } from './part.ts'
import { policyResolutionSchema } from './policy/policy.ts'

/** `none`, or a method of the channel's own (`ChannelDescriptor.authMethods`). */
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

/** Presentation only, never authorization. */
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
    /** Position that a mention needs in an answer so that its subject gets the answer. */
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
  /** Most agents that may; never more than `limits.loop.max_hops`. */
  max_hops: z.number().int().positive(),
  /** True if the agent has to conclude, and may bring no other agent in. */
  is_final: z.boolean(),
})

const recipientCapabilitiesSchema = z.object({
  /** The way an answer brings a mentioned recipient in; `none` if only the gateway or the agent can call them. */
  mention_relay: mentionRelaySchema,
  /** Position in a chain of agents that call each other. */
  agent_chain: agentChainSchema.optional(),
})

/** An earlier writer in the thread with their proof of that time (ours); absent where nobody proved anything. */
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

/** A turn spoken earlier in the thread, as the agent sees it. */
const historicalMessageSchema = z.object({
  /** Id of the message or the response. */
  id: z.string().optional(),
  /** `assistant` for the agent itself, `user` for everybody else. */
  role: z.enum(['user', 'assistant']),
  /** The writer; the first writer if there are several, verified only if all are. */
  sender: historicalSenderSchema,
  /** All writers of the turn in order, if there are several or their proofs differ. */
  writers: z.array(historicalSenderSchema).optional(),
  /** The words; a text part `@name@domain:` stands where the next writer begins. */
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
  /** Number of the parts that are its own; the parts stand in the order of the messages, those of the message itself last. */
  part_count: z.number().int().nonnegative(),
})

/** The phase of the caller's plan that a message belongs to (ours): earlier results of the agent are found by it. */
const phaseShape = {
  /** Phase of the caller's plan that the message is of. */
  phase_id: z.number().int().nonnegative().optional(),
  /** The phase before it, whose results the agent may look for. */
  previous_phase_id: z.number().int().nonnegative().optional(),
}

/** The turn of another agent of this gateway that calls (ours). */
const calledBySchema = z.object({
  /** The agent that calls. */
  agent: z.string(),
  /** Number of the message whose turn calls. */
  message: z.number().int(),
  /** Number of the message with which the calls began, where that is another one. */
  first_message: z.number().int().optional(),
  /** The word that its lines in the log share. */
  correlation_id: z.string(),
  /** True if it calls for the sender of that message. */
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

/** The persons that a link joined, or that its end parted (ours). */
const personChangeSchema = z.object({
  /** The persons as they were: two of a `link`, one of an `unlink`. */
  before: z.array(linkedPersonSchema),
  /** The persons as they are: one of a `link`, two or more of an `unlink`. */
  after: z.array(linkedPersonSchema),
})

/** The one message that every channel makes and every agent reads (NormalizedMessage v0.1; `kind` and `web` are ours). */
export const normalizedMessageSchema = z.object({
  /** Id of the message on its wire. */
  id: z.string(),
  /** Id of the conversation: the gateway draws it, and only people who may read the conversation reach it. */
  thread_id: z.string(),
  /** Id by which the wire named the conversation when it began. Peers choose it, so it is no key for a memory. */
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
  /** The means that an answer has on this channel. */
  recipient_capabilities: recipientCapabilitiesSchema,
  /** The channel. */
  received_via: channelNameSchema,
  /** The time at which the gateway accepted it. */
  received_at: z.iso.datetime(),
  /** The document as it arrived, without credentials: JSON-LD, an A2A request, or the text of a mail. */
  raw: z.unknown(),
  /** The decision of a requirement of the agent, if the message has one. */
  policy_resolution: policyResolutionSchema.optional(),
  /** The kind of event; agents get only the kinds that `receives` names. */
  kind: z.enum(messageKinds).default('message').optional(),
  /** The persons that a `link` or an `unlink` concerns, before and after. */
  person_change: personChangeSchema.optional(),
  /** The turn that calls, if another agent of this gateway has sent it. */
  called_by: calledBySchema.optional(),
  /** The sender for whom that agent calls, with what was proven of them there; they have not sent this message. */
  on_behalf_of: senderSchema.optional(),
  /** Earlier messages of the same sender that share the answer to this one. */
  merged: z.array(mergedMessageSchema).optional(),
  ...phaseShape,
})

/** Returns the id by which the wire names the conversation of a message. One that was made by hand may have its `thread_id` alone. */
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
