import type { ChannelContext, RequirementClaim, RequirementClaims } from '@postern/core'
import { isJsonObject, isoTime, refuseResolution, rememberScopes } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { WireMessage } from '../format/wire.ts'
import { renderSender } from './sender.ts'
import type { SenderEvidence } from './sender-evidence.ts'

/** A message's decision on its agent's requirement, checked as far as possible without the store. */
export type CheckedClaim = Awaited<ReturnType<RequirementClaims['check']>>

interface ClaimDeps extends Pick<ChannelContext, 'platform' | 'agents' | 'requirementClaims'> {
  /** Evidence of third parties for the sender, because many people can use one connector. */
  readonly accepted: SenderEvidence['accepted']
}

const field = 'message.metadata.mentionable.policy_resolution'
const maxReceipt = 8_192
/** How long a decision counts. */
const reaches = ['once', ...rememberScopes]

/**
 * The decision in a message (MN-7.2). Its presence proves nothing. @throws A2aRejection `invalidParams` when it is malformed; Rejection
 * when it is invalid
 */
export async function readPolicyClaim(
  { metadata }: WireMessage,
  { caller, agent }: Call,
  { platform, agents, requirementClaims, accepted }: ClaimDeps,
): Promise<CheckedClaim | undefined> {
  const claimed = isJsonObject(metadata?.mentionable) ? metadata.mentionable.policy_resolution : undefined
  if (claimed === undefined || claimed === null) return undefined
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
  if (typeof state !== 'string' || !/^[\w-]{43}$/.test(state)) throw refuse('in_reply_to_state', 'must be a state')
  if (outcome !== 'granted' && outcome !== 'declined') throw refuse('outcome', 'must be "granted" or "declined"')
  if (kind !== undefined && typeof kind !== 'string') throw refuse('kind', 'must be text')
  if (receipt !== undefined && (typeof receipt !== 'string' || receipt.length > maxReceipt)) {
    throw refuse('receipt', `must be a compact JWS of at most ${maxReceipt} characters`)
  }
  if (remember !== undefined && !reaches.some(reach => reach === remember)) {
    throw refuse('remember', 'must be "once", "conversation" or "always"')
  }
  return {
    state,
    outcome,
    ...(kind !== undefined && { kind }),
    ...(receipt !== undefined && { receipt }),
    ...(typeof remember === 'string' && { remember }),
  }
}

function refuse(member: string, description: string): A2aRejection {
  const violations = [{ field: `${field}.${member}`, description }]
  return new A2aRejection('invalidParams', `Cannot SendMessage: ${field}.${member} ${description}`, { violations })
}
