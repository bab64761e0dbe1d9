// Checks the decision that an A2A caller sends along with a message.
import type { Sender } from '@postern/message'
import { isoTime, Rejection, subjectOf } from '@postern/message'
import type { RequirementClaim, RequirementClaims, RequirementRecord } from '@postern/pipeline'
import { describeResolution, readRemember, refuseClaim, refuseResolution } from '@postern/pipeline'
import type { DecisionDeps, DecisionPlan } from './decide.ts'
import { checkReceipt, mayGrant, planDecision } from './decide.ts'
import type { FindByState } from './states.ts'

/**
 * Creates the check of decisions that callers send with their messages (A2A). It checks the sender, the requirement and a receipt, before the store
 * admits the decision.
 */
export function createRequirementClaims(deps: DecisionDeps, findByState: FindByState): RequirementClaims {
  return {
    async check(claim, { agent, sender }) {
      if (!sender.verified) throw refuseClaim('outcome', 'counts only from a caller who proves who they are')
      const { requirement, isValid } = await findByState(claim.state)
      const isForCaller = requirement?.agent === agent && requirement.subject === subjectOf(sender)
      if (!requirement || !isValid || !isForCaller) throw refuseResolution('unknown')
      if (claim.kind !== undefined && claim.kind !== requirement.kind) throw refuseResolution('kind')
      const plan = await toDecisionPlan(claim, requirement, { sender, deps })
      const decision = planDecision(requirement, plan)
      return { decision, resolution: describeResolution(requirement, decision, isoTime(deps.system.now())) }
    },
  }
}

async function toDecisionPlan(
  { outcome, receipt, remember: claimedScope }: RequirementClaim,
  requirement: RequirementRecord,
  { sender, deps }: { readonly sender: Sender; readonly deps: DecisionDeps },
): Promise<DecisionPlan> {
  const subject = sender.identities?.find(({ proof }) => proof.type === 'transport')?.subject
  const remember = readClaimedScope(claimedScope, requirement)
  if (outcome === 'declined') return { method: 'principal', outcome, subject, remember }
  if (requirement.kind === 'payment_required') {
    if (receipt === undefined) throw refuseClaim('receipt', 'is missing')
    // The receipt of a decided requirement is not checked, because the store refuses the claim or knows it from an earlier message.
    const receiptUse = requirement.status === 'open' ? await checkReceipt(requirement, receipt, deps) : undefined
    return { method: 'receipt', outcome, subject, receipt: receiptUse }
  }
  if (receipt !== undefined) throw refuseClaim('receipt', 'is not what was asked for')
  if (!mayGrant('principal', requirement)) throw refuseClaim('outcome', 'is not for the caller to grant')
  return { method: 'principal', outcome, subject, remember }
}

function readClaimedScope(
  scope: RequirementClaim['remember'],
  requirement: RequirementRecord,
): DecisionPlan['remember'] {
  try {
    return readRemember(scope, requirement)
  } catch (error) {
    if (error instanceof Rejection && error.code === 'forbidden') throw refuseClaim('remember', 'is not offered')
    throw error
  }
}
