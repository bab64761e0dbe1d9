import { z } from 'zod'
import { identityEvidenceSchema } from './address/identity.ts'
import { partSchema } from './part.ts'
import { policyResolutionSchema } from './policy.ts'

/** `none`, or a method of the channel's own (`ChannelDescriptor.authMethods`). */
const authMethodSchema = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
/** The name of a channel in the gateway's list. */
export const channelNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)

export const messageKinds = ['message', 'edit', 'delete', 'reaction', 'follow', 'unfollow'] as const

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
      /** Where the picture is. */
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
  /** When the gateway read the profile, ISO 8601. */
  fetched_at: z.string().optional(),
})

const senderSchema = z
  .object({
    /** The sender's address, `@name@domain`; proven only if `verified` is true. */
    address: z.string(),
    /** Name the sender shows. */
    display_name: z.string().optional(),
    /** How the sender presents themselves; for display only, never for authorization. */
    profile: senderProfileSchema.optional(),
    /** How the transport proved the sender; `none` if it did not. */
    auth_method: authMethodSchema,
    /** Whether the transport proved the sender. */
    verified: z.boolean(),
    /** Id of the key that proved it. */
    key_id: z.string().optional(),
    /** What is proven of the sender; authorization reads this. */
    identities: z.array(identityEvidenceSchema).optional(),
  })
  .refine(sender => sender.auth_method !== 'none' || !sender.verified, 'auth_method "none" cannot be verified')
  .refine(
    sender => !sender.verified || sender.identities?.some(({ proof }) => proof.type === 'transport'),
    'a verified sender needs an identity proven by the transport',
  )

export const mentionRelaySchema = z.discriminatedUnion('kind', [
  z.object({
    /** Where a mention in an answer has to stand so that its subject gets the answer. */
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
    /** Whether the text has to name them, too. */
    also_inline: z.boolean(),
  }),
  z.object({ kind: z.literal('none') }),
])

const agentChainSchema = z.object({
  /** How many agents have passed the message on. */
  hop: z.number().int().positive(),
  /** How many may; never more than `limits.loop.max_hops`. */
  max_hops: z.number().int().positive(),
  /** Whether the agent has to conclude, and may bring no other agent in. */
  is_final: z.boolean(),
})

const recipientCapabilitiesSchema = z.object({
  /** How an answer brings a mentioned recipient in; `none` if only the gateway or the agent can call them. */
  mention_relay: mentionRelaySchema,
  /** Position in a chain of agents that call each other. */
  agent_chain: agentChainSchema.optional(),
})

/** Who wrote earlier in the thread, and how that was proven then (ours); absent where nobody proved anything. */
const historicalSenderSchema = z.object({
  /** The writer's address, `@name@domain`. */
  address: z.string(),
  /** Name the writer showed. */
  display_name: z.string().optional(),
  /** Whether the transport proved the writer then. */
  verified: z.boolean().optional(),
  /** How it did. */
  auth_method: authMethodSchema.optional(),
  /** What was proven of the writer then. */
  identities: z.array(identityEvidenceSchema).optional(),
})

/** A turn spoken earlier in the thread, as the agent sees it. */
const historicalMessageSchema = z.object({
  /** Id of the message or the response. */
  id: z.string().optional(),
  /** `assistant` for the agent itself, `user` for everybody else. */
  role: z.enum(['user', 'assistant']),
  /** Who wrote it; the first writer if there are several, verified only if all are. */
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
  /** When it arrived. */
  received_at: z.iso.datetime(),
  /** How many of the parts are its own; the parts stand in the order of the messages, those of the message itself last. */
  part_count: z.number().int().nonnegative(),
})

/** Of which phase of the caller's plan a message is (ours): what the agent came to before is looked for by it. */
const phaseShape = {
  /** Phase of the caller's plan that the message is of. */
  phase_id: z.number().int().nonnegative().optional(),
  /** The phase before it, whose results the agent may look for. */
  previous_phase_id: z.number().int().nonnegative().optional(),
}

/** The one message that every channel makes and every agent reads (NormalizedMessage v0.1; `kind` and `web` are ours). */
export const normalizedMessageSchema = z.object({
  /** Id of the message on its wire. */
  id: z.string(),
  /** Id of the conversation. */
  thread_id: z.string(),
  /** Id of the message that it answers. */
  in_reply_to: z.string().optional(),
  /** Who sent it, and how that is proven. */
  sender: senderSchema,
  /** The agent it is for, `@agent@domain`. */
  recipient: z.string(),
  /** What it says. */
  parts: z.array(partSchema),
  /** The conversation before it, oldest first, trimmed by the gateway. */
  history: z.array(historicalMessageSchema).optional(),
  /** What an answer can do on this channel. */
  recipient_capabilities: recipientCapabilitiesSchema,
  /** The channel. */
  received_via: channelNameSchema,
  /** When the gateway took it. */
  received_at: z.iso.datetime(),
  /** What arrived, without credentials: JSON-LD, an A2A request, or the text of a mail. */
  raw: z.unknown(),
  /** The decision of a requirement of the agent, if the message has one. */
  policy_resolution: policyResolutionSchema.optional(),
  /** What happened; agents get only the kinds that `receives` names. */
  kind: z.enum(messageKinds).default('message').optional(),
  /** Earlier messages of the same sender that share the answer to this one. */
  merged: z.array(mergedMessageSchema).optional(),
  ...phaseShape,
})

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
