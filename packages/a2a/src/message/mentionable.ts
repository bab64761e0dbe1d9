// Reads the metadata of a message that A2A has no members for, such as forwarded evidence.
import type { AgentChain, MentionRelay, NormalizedMessage } from '@postern/message'
import {
  clampAgentChain,
  formatAddress,
  isJsonObject,
  isoTime,
  mentionRelaySchema,
  rememberScopes,
} from '@postern/message'
import type {
  AgentCallOptions,
  ChannelContext,
  EvidenceResult,
  RequirementClaim,
  RequirementClaims,
} from '@postern/pipeline'
import { refuseResolution } from '@postern/pipeline'
import { renderSender } from '../auth/sender.ts'
import type { Call } from '../endpoint/call.ts'
import type { A2aRejection } from '../format/errors.ts'
import { refuseField } from '../format/errors.ts'
import { a2aDescriptor } from '../speaker.ts'

/**
 * The member `metadata.mentionable` of a message, in the namespace of Mentionable. It contains data that A2A has no members for. Most messages
 * have none.
 */
export type Mentionable = Readonly<Record<string, unknown>>

/** The facts about the sender that `metadata.mentionable` proves. */
export interface SenderEvidence extends Pick<EvidenceResult, 'accepted' | 'proofs'> {
  readonly mentionRelay: MentionRelay
}

/** The evidence of a sender who provides none. */
export const noSenderEvidence: SenderEvidence = { accepted: [], proofs: [], mentionRelay: a2aDescriptor.mentionRelay }

type SenderEvidenceDeps = Pick<ChannelContext, 'identity' | 'agents' | 'system'>

/**
 * Reads forwarded evidence (MN-6.4), and the mention relay of a sender that speaks for a platform (MN-8.1). Invalid evidence is ignored, and the
 * message is still accepted. This check consumes the evidence, so it is the last one.
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

/** Reads `metadata.mentionable.mention_relay`, which is our own member because the published text names none. */
function readRelay(claimedRelay: unknown, { caller }: Call, { identity, system }: SenderEvidenceDeps): MentionRelay {
  const relay = mentionRelaySchema.safeParse(claimedRelay)
  const isTrusted = !caller.isAnonymous && identity?.isConnector(caller) === true
  if (relay.success && isTrusted) return relay.data
  const reason = isTrusted ? 'is unknown' : 'comes from a caller who is no connector'
  system.log.info({ issuer: caller.issuer, subject: caller.subject, reason }, 'mention relay of a message ignored')
  return a2aDescriptor.mentionRelay
}

/** The decision in a message on its agent's requirement, checked as far as possible without the store. */
export type CheckedClaim = Awaited<ReturnType<RequirementClaims['check']>>

interface ClaimDeps extends Pick<ChannelContext, 'system' | 'agents' | 'requirementClaims'> {
  /** The evidence of third parties for the sender, because many people can use one connector. */
  readonly acceptedEvidence: SenderEvidence['accepted']
}

const maxReceiptChars = 8_192
/** The scopes that a decision may have. */
const decisionScopes = ['once', ...rememberScopes]

/**
 * Reads the decision in a message (MN-7.2). The store still has to check the decision.
 * @throws A2aRejection `invalidParams` if it is malformed; Rejection if it is invalid
 */
export async function readPolicyClaim(
  { policy_resolution: claimedResolution }: Mentionable,
  { caller, agent }: Call,
  { system, agents, requirementClaims, acceptedEvidence }: ClaimDeps,
): Promise<CheckedClaim | undefined> {
  if (!isPresent(claimedResolution)) return undefined
  const claim = parseClaim(claimedResolution)
  if (!requirementClaims) throw refuseResolution('unknown')
  const audience = `@${agent.name}@${agents.domain}`
  const sender = renderSender(caller, acceptedEvidence, { audience, issuedAt: isoTime(system.now()) })
  return requirementClaims.check(claim, { agent: agent.name, sender })
}

function parseClaim(claim: unknown): RequirementClaim {
  const { in_reply_to_state: state, kind, outcome = 'granted', receipt, remember } = isJsonObject(claim) ? claim : {}
  if (typeof state !== 'string' || !/^[\w-]{43}$/.test(state)) throw refuseClaim('in_reply_to_state', 'must be a state')
  if (outcome !== 'granted' && outcome !== 'declined') throw refuseClaim('outcome', 'must be "granted" or "declined"')
  if (kind !== undefined && typeof kind !== 'string') throw refuseClaim('kind', 'must be text')
  if (receipt !== undefined && (typeof receipt !== 'string' || receipt.length > maxReceiptChars)) {
    throw refuseClaim('receipt', `must be a compact JWS of at most ${maxReceiptChars} characters`)
  }
  if (remember !== undefined && !decisionScopes.some(scope => scope === remember)) {
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
  return refuseMember(`policy_resolution.${member}`, description)
}

/**
 * Returns the chain of agents that a peer claims, limited by our own maximum. `is_final` is computed again.
 * @throws A2aRejection `invalidParams` if it is malformed; Rejection `forbidden` if it is too long
 */
export function clampChain({ agent_chain: claimedChain }: Mentionable, maxHops: number): AgentChain | undefined {
  if (!isPresent(claimedChain)) return undefined
  const { hop, max_hops } = isJsonObject(claimedChain) ? claimedChain : {}
  if (!isCount(hop) || !isCount(max_hops))
    throw refuseMember('agent_chain', 'needs hop and max_hops, both positive integers')
  return clampAgentChain({ hop, max_hops }, maxHops)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** The phase of the caller's plan that a message belongs to. */
export type MessagePhase = Pick<NormalizedMessage, 'phase_id' | 'previous_phase_id'>

/** Reads the phase of a message. @throws A2aRejection `invalidParams` */
export function readPhase(mentionable: Mentionable): MessagePhase {
  const phaseMembers = (['phase_id', 'previous_phase_id'] as const).filter(member => isPresent(mentionable[member]))
  return Object.fromEntries(phaseMembers.map(member => [member, checkPhase(mentionable[member], member)]))
}

function checkPhase(value: unknown, member: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw refuseMember(member, 'must be a whole number from 0 on')
}

export function renderPhase({
  phaseId,
  previousPhaseId,
}: Pick<AgentCallOptions, 'phaseId' | 'previousPhaseId'>): MessagePhase {
  return {
    ...(phaseId !== undefined && { phase_id: phaseId }),
    ...(previousPhaseId !== undefined && { previous_phase_id: previousPhaseId }),
  }
}

function refuseMember(member: string, description: string): A2aRejection {
  return refuseField('Cannot SendMessage', `message.metadata.mentionable.${member}`, description)
}
