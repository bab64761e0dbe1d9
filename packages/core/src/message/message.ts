import { z } from 'zod'
import { identityEvidenceSchema } from './address/identity.ts'
import { partSchema } from './part.ts'
import { policyResolutionSchema } from './policy/policy-resolution.ts'

/** `none`, or a method of the channel's own (`ChannelDescriptor.authMethods`). */
const authMethodSchema = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
/** The name of a channel in the gateway's list. */
export const channelNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)

export const messageKinds = ['message', 'edit', 'delete', 'reaction', 'follow', 'unfollow'] as const

/** Presentation only, never authorization. */
const senderProfileSchema = z.looseObject({
  display_name: z.string().optional(),
  username: z.string().optional(),
  url: z.string().optional(),
  avatar: z.looseObject({ url: z.string(), mime_type: z.string().optional() }).optional(),
  locale: z.string().optional(),
  timezone: z.string().optional(),
  provider: z.string().optional(),
  provider_subject: z.string().optional(),
  fetched_at: z.string().optional(),
})

const senderSchema = z
  .object({
    address: z.string(),
    display_name: z.string().optional(),
    profile: senderProfileSchema.optional(),
    auth_method: authMethodSchema,
    verified: z.boolean(),
    key_id: z.string().optional(),
    identities: z.array(identityEvidenceSchema).optional(),
  })
  .refine(sender => sender.auth_method !== 'none' || !sender.verified, 'auth_method "none" cannot be verified')
  .refine(
    sender => !sender.verified || sender.identities?.some(({ proof }) => proof.type === 'transport'),
    'a verified sender needs an identity proven by the transport',
  )

export const mentionRelaySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('inline') }),
  z.object({ kind: z.literal('recipient-field'), fields: z.array(z.string()) }),
  z.object({ kind: z.literal('addressing'), envelope_fields: z.array(z.string()), also_inline: z.boolean() }),
  z.object({ kind: z.literal('none') }),
])

const agentChainSchema = z.object({
  hop: z.number().int().positive(),
  max_hops: z.number().int().positive(),
  is_final: z.boolean(),
})

const recipientCapabilitiesSchema = z.object({
  mention_relay: mentionRelaySchema,
  agent_chain: agentChainSchema.optional(),
})

/** Who wrote earlier in the thread, and how that was proven then (ours); absent where nobody proved anything. */
const historicalSenderSchema = z.object({
  address: z.string(),
  display_name: z.string().optional(),
  verified: z.boolean().optional(),
  auth_method: authMethodSchema.optional(),
  identities: z.array(identityEvidenceSchema).optional(),
})

/** A turn spoken earlier in the thread, as the agent sees it. */
const historicalMessageSchema = z.object({
  id: z.string().optional(),
  role: z.enum(['user', 'assistant']),
  sender: historicalSenderSchema,
  /**
   * Ours: where a turn holds words of several writers, or of one whose proofs differ, each in order. A text part `@name@domain:` stands
   * where the next one begins. `sender` is the first, and is verified only if all are.
   */
  writers: z.array(historicalSenderSchema).optional(),
  parts: z.array(partSchema),
  timestamp: z.string(),
  /** Ours: by which channel, where it was said in another conversation of a person whose addresses are linked. */
  via: channelNameSchema.optional(),
})

/** An earlier message of the same sender that is answered together with this one (ours). */
const mergedMessageSchema = z.object({
  id: z.string(),
  received_at: z.iso.datetime(),
  /** How many of the parts are its own: they stand in the order of the messages, and those of the message itself last. */
  part_count: z.number().int().nonnegative(),
})

/** Of which phase of the caller's plan a message is (ours): what the agent came to before is looked for by it. */
const phaseShape = {
  phase_id: z.number().int().nonnegative().optional(),
  previous_phase_id: z.number().int().nonnegative().optional(),
}

/** The one message every door makes and every agent reads (NormalizedMessage v0.1; `kind` and `web` are ours). */
export const normalizedMessageSchema = z.object({
  id: z.string(),
  thread_id: z.string(),
  in_reply_to: z.string().optional(),
  sender: senderSchema,
  recipient: z.string(),
  parts: z.array(partSchema),
  history: z.array(historicalMessageSchema).optional(),
  recipient_capabilities: recipientCapabilitiesSchema,
  received_via: channelNameSchema,
  received_at: z.iso.datetime(),
  raw: z.unknown(),
  policy_resolution: policyResolutionSchema.optional(),
  kind: z.enum(messageKinds).default('message').optional(),
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
