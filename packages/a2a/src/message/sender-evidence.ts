import type { ChannelContext, EvidenceVerdict, MentionRelay } from '@postern/core'
import { formatAddress, isJsonObject, mentionRelaySchema } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import type { WireMessage } from '../format/wire.ts'
import { a2aDescriptor } from '../speaker.ts'

/** What `metadata.mentionable` proves about the sender. */
export interface SenderEvidence extends Pick<EvidenceVerdict, 'accepted' | 'proofs'> {
  readonly mentionRelay: MentionRelay
}

const nothing: SenderEvidence = { accepted: [], proofs: [], mentionRelay: a2aDescriptor.mentionRelay }

type SenderEvidenceDeps = Pick<ChannelContext, 'identity' | 'agents' | 'platform'>

/**
 * Forwarded evidence (MN-6.4), and how mentions reach others if the sender speaks for a platform (MN-8.1). Invalid evidence is left out and
 * the message is still accepted. This check consumes the evidence, so it is the last one.
 */
export function readSenderEvidence(
  call: Call,
  message: WireMessage,
  gateway: SenderEvidenceDeps,
): Promise<SenderEvidence> | SenderEvidence {
  const mentionable = isJsonObject(message.metadata) ? message.metadata.mentionable : undefined
  return isJsonObject(mentionable)
    ? verifySenderEvidence(call, { messageId: message.messageId, mentionable }, gateway)
    : nothing
}

interface Vouched {
  readonly messageId: string
  readonly mentionable: Readonly<Record<string, unknown>>
}

async function verifySenderEvidence(
  call: Call,
  { messageId, mentionable }: Vouched,
  gateway: SenderEvidenceDeps,
): Promise<SenderEvidence> {
  const { identity_evidence, verifiable_credentials, mention_relay } = mentionable
  const mentionRelay = isPresent(mention_relay) ? readRelay(mention_relay, call, gateway) : nothing.mentionRelay
  if (!isPresent(identity_evidence) && !isPresent(verifiable_credentials)) return { ...nothing, mentionRelay }
  const audience = formatAddress({ local: call.agent.name, domain: gateway.agents.domain })
  const carriers = { identity_evidence, verifiable_credentials }
  const { owner, isAnonymous } = call.caller
  const sender = isAnonymous ? undefined : owner
  const verdict = await gateway.identity?.verify({ audience, messageId, sender, carriers })
  return { accepted: verdict?.accepted ?? [], proofs: verdict?.proofs ?? [], mentionRelay }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** `metadata.mentionable.mention_relay` is our own member: the published text names none. */
function readRelay(claimed: unknown, { caller }: Call, { identity, platform }: SenderEvidenceDeps): MentionRelay {
  const relay = mentionRelaySchema.safeParse(claimed)
  const isBelieved = !caller.isAnonymous && identity?.isConnector(caller) === true
  if (relay.success && isBelieved) return relay.data
  const reason = isBelieved ? 'is none that is known' : 'comes from a caller who is no connector'
  platform.log.info({ issuer: caller.issuer, subject: caller.subject, reason }, 'mention relay of a message ignored')
  return a2aDescriptor.mentionRelay
}
