// Checks the decision that an A2A caller sends along with a message.
import type { Sender } from '@postern/message'
import { isoTime, Rejection, subjectOf } from '@postern/message'
import type { RequirementClaim, RequirementClaims, RequirementRecord } from '@postern/pipeline'
import { describeResolution, readRemember, refuseClaim, refuseResolution } from '@postern/pipeline'
import type { DecisionDeps, DecisionPlan } from './decide.ts'
import { checkReceipt, mayGrant, planDecision } from './decide.ts'
import type { FindByState } from './states.ts'

/**
 * Creates the checks of decisions that callers send with their messages (A2A). They cover only what needs a request to another service; the store
 * checks the rest.
 */
export function createRequirementClaims(deps: DecisionDeps, findByState: FindByState): RequirementClaims {
  return {
    async check(claim, { agent, sender }) {
      if (!sender.verified) throw refuseClaim('outcome', 'counts only from a caller who proves who they are')
      const { requirement, isValid } = await findByState(claim.state)
      if (!requirement || !isValid || requirement.agent !== agent || requirement.subject !== subjectOf(sender))
        throw refuseResolution('unknown')
      if (claim.kind !== undefined && claim.kind !== requirement.kind) throw refuseResolution('kind')
      const decision = planDecision(requirement, await planClaim(claim, requirement, { sender, deciding: deps }))
      return { decision, resolution: describeResolution(requirement, decision, isoTime(deps.system.now())) }
    },
  }
}

async function planClaim(
  { outcome, receipt, remember: scope }: RequirementClaim,
  requirement: RequirementRecord,
  { sender, deciding: deps }: { readonly sender: Sender; readonly deciding: DecisionDeps },
): Promise<DecisionPlan> {
  const subject = sender.identities?.find(({ proof }) => proof.type === 'transport')?.subject
  const remember = readClaimedScope(scope, requirement)
  if (outcome === 'declined') return { method: 'principal', outcome, subject, remember }
  if (requirement.kind === 'payment_required') {
    if (receipt === undefined) throw refuseClaim('receipt', 'is missing')
    // The receipt of a decided requirement is not checked: admission refuses the claim, or finds that it was admitted before.
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
