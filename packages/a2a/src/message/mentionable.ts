import type {
  AgentCallOptions,
  AgentChain,
  ChannelContext,
  EvidenceVerdict,
  MentionRelay,
  NormalizedMessage,
  RequirementClaim,
  RequirementClaims,
} from '@postern/core'
import {
  clampAgentChain,
  formatAddress,
  isJsonObject,
  isoTime,
  mentionRelaySchema,
  refuseResolution,
  rememberScopes,
} from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import type { A2aRejection } from '../format/errors.ts'
import { refuseField } from '../format/errors.ts'
import { a2aDescriptor } from '../speaker.ts'
import { renderSender } from '../verify.ts'

/** `metadata.mentionable` of a message, in the family's namespace: what A2A has no members for. Most messages have none. */
type Mentionable = Readonly<Record<string, unknown>>

/** What `metadata.mentionable` proves about the sender. */
export interface SenderEvidence extends Pick<EvidenceVerdict, 'accepted' | 'proofs'> {
  readonly mentionRelay: MentionRelay
}

/** Of a sender who brings none. */
export const noSenderEvidence: SenderEvidence = { accepted: [], proofs: [], mentionRelay: a2aDescriptor.mentionRelay }

type SenderEvidenceDeps = Pick<ChannelContext, 'identity' | 'agents' | 'platform'>

/**
 * Forwarded evidence (MN-6.4), and how mentions reach others if the sender speaks for a platform (MN-8.1). Invalid evidence is left out and
 * the message is still accepted. This check consumes the evidence, so it is the last one.
 */
export async function readSenderEvidence(
  { identity_evidence, verifiable_credentials, mention_relay }: Mentionable,
  messageId: string,
  call: Call,
  gateway: SenderEvidenceDeps,
): Promise<SenderEvidence> {
  const mentionRelay = isPresent(mention_relay) ? readRelay(mention_relay, call, gateway) : a2aDescriptor.mentionRelay
  if (!isPresent(identity_evidence) && !isPresent(verifiable_credentials)) return { ...noSenderEvidence, mentionRelay }
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

/** A message's decision on its agent's requirement, checked as far as possible without the store. */
export type CheckedClaim = Awaited<ReturnType<RequirementClaims['check']>>

interface ClaimDeps extends Pick<ChannelContext, 'platform' | 'agents' | 'requirementClaims'> {
  /** Evidence of third parties for the sender, because many people can use one connector. */
  readonly accepted: SenderEvidence['accepted']
}

const maxReceipt = 8_192
/** How long a decision counts. */
const reaches = ['once', ...rememberScopes]

/**
 * The decision in a message (MN-7.2). Its presence proves nothing. @throws A2aRejection `invalidParams` when it is malformed; Rejection
 * when it is invalid
 */
export async function readPolicyClaim(
  { policy_resolution: claimed }: Mentionable,
  { caller, agent }: Call,
  { platform, agents, requirementClaims, accepted }: ClaimDeps,
): Promise<CheckedClaim | undefined> {
  if (!isPresent(claimed)) return undefined
  const claim = parseClaim(claimed)
  if (!requirementClaims) throw refuseResolution('unknown')
  const audience = `@${agent.name}@${agents.domain}`
  const sender = renderSender(caller, accepted, { audience, issuedAt: isoTime(platform.now()) })
  return requirementClaims.check(claim, { agent: agent.name, sender })
}

function parseClaim(claimed: unknown): RequirementClaim {
  const {
    in_reply_to_state: state,
    kind,
    outcome = 'granted',
    receipt,
    remember,
  } = isJsonObject(claimed) ? claimed : {}
  if (typeof state !== 'string' || !/^[\w-]{43}$/.test(state)) throw refuseClaim('in_reply_to_state', 'must be a state')
  if (outcome !== 'granted' && outcome !== 'declined') throw refuseClaim('outcome', 'must be "granted" or "declined"')
  if (kind !== undefined && typeof kind !== 'string') throw refuseClaim('kind', 'must be text')
  if (receipt !== undefined && (typeof receipt !== 'string' || receipt.length > maxReceipt)) {
    throw refuseClaim('receipt', `must be a compact JWS of at most ${maxReceipt} characters`)
  }
  if (remember !== undefined && !reaches.some(reach => reach === remember)) {
    throw refuseClaim('remember', 'must be "once", "conversation" or "always"')
  }
  return {
    state,
    outcome,
    ...(kind !== undefined && { kind }),
    ...(receipt !== undefined && { receipt }),
    ...(typeof remember === 'string' && { remember }),
  }
}

function refuseClaim(member: string, description: string): A2aRejection {
  return refuse(`policy_resolution.${member}`, description)
}

/**
 * The chain that a peer claims, limited by our own maximum; `is_final` is computed again. @throws A2aRejection `invalidParams` when it is
 * malformed; Rejection `forbidden` when it is too long
 */
export function clampChain({ agent_chain: claimed }: Mentionable, ceiling: number): AgentChain | undefined {
  if (!isPresent(claimed)) return undefined
  const { hop, max_hops } = isJsonObject(claimed) ? claimed : {}
  if (!isCount(hop) || !isCount(max_hops)) throw refuse('agent_chain', 'needs hop and max_hops, both positive integers')
  return clampAgentChain({ hop, max_hops }, ceiling)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** The phase of the caller's plan that a message belongs to. */
export type Phase = Pick<NormalizedMessage, 'phase_id' | 'previous_phase_id'>

/** @throws A2aRejection `invalidParams` */
export function readPhase(mentionable: Mentionable): Phase {
  const given = (['phase_id', 'previous_phase_id'] as const).filter(member => isPresent(mentionable[member]))
  return Object.fromEntries(given.map(member => [member, checkPhase(mentionable[member], member)]))
}

function checkPhase(value: unknown, member: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw refuse(member, 'must be a whole number from 0 on')
}

export function renderPhase({
  phaseId,
  previousPhaseId,
}: Pick<AgentCallOptions, 'phaseId' | 'previousPhaseId'>): Phase {
  return {
    ...(phaseId !== undefined && { phase_id: phaseId }),
    ...(previousPhaseId !== undefined && { previous_phase_id: previousPhaseId }),
  }
}

function refuse(member: string, description: string): A2aRejection {
  return refuseField('Cannot SendMessage', `message.metadata.mentionable.${member}`, description)
}
