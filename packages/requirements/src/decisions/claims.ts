import type { RequirementClaim, RequirementClaims, RequirementRecord, Sender } from '@postern/core'
import {
  describeResolution,
  isoTime,
  Rejection,
  readRemember,
  refuseClaim,
  refuseResolution,
  subjectOf,
} from '@postern/core'
import type { DecisionDeps, DecisionPlan } from './decide.ts'
import { checkReceipt, mayGrant, planDecision } from './decide.ts'

/** Decisions that callers bring with their messages (A2A). Here is checked what needs a look outside; the rest is the store's. */
export function createRequirementClaims(
  deciding: DecisionDeps,
  { digestOf }: { digestOf(state: string): string },
): RequirementClaims {
  return {
    async check(claim, { agent, sender }) {
      if (!sender.verified) throw refuseClaim('outcome', 'counts only from a caller who proves who they are')
      const requirement = await deciding.store.findRequirement({ digest: digestOf(claim.state) })
      if (!requirement || requirement.agent !== agent || requirement.subject !== subjectOf(sender))
        throw refuseResolution('unknown')
      if (claim.kind !== undefined && claim.kind !== requirement.kind) throw refuseResolution('kind')
      const decision = planDecision(requirement, await planClaim(claim, requirement, { sender, deciding }))
      return { decision, resolution: describeResolution(requirement, decision, isoTime(deciding.platform.now())) }
    },
  }
}

async function planClaim(
  { outcome, receipt, remember: wanted }: RequirementClaim,
  requirement: RequirementRecord,
  { sender, deciding }: { readonly sender: Sender; readonly deciding: DecisionDeps },
): Promise<DecisionPlan> {
  const subject = sender.identities?.find(({ proof }) => proof.type === 'transport')?.subject
  const remember = readClaimedScope(wanted, requirement)
  if (outcome === 'declined') return { method: 'principal', outcome, subject, remember }
  if (requirement.kind === 'payment_required') {
    if (receipt === undefined) throw refuseClaim('receipt', 'is missing')
    // What is over already is told so when it is admitted, or was admitted before.
    const used = requirement.status === 'open' ? await checkReceipt(requirement, receipt, deciding) : undefined
    return { method: 'receipt', outcome, subject, receipt: used }
  }
  if (receipt !== undefined) throw refuseClaim('receipt', 'is not what was asked for')
  if (!mayGrant('principal', requirement)) throw refuseClaim('outcome', 'is not for the caller to grant')
  return { method: 'principal', outcome, subject, remember }
}

function readClaimedScope(
  wanted: RequirementClaim['remember'],
  requirement: RequirementRecord,
): DecisionPlan['remember'] {
  try {
    return readRemember(wanted, requirement)
  } catch (error) {
    if (error instanceof Rejection && error.code === 'forbidden') throw refuseClaim('remember', 'is not offered')
    throw error
  }
}
