import type { DemandClaim, DemandClaims, DemandRecord, Sender } from '@postern/core'
import {
  describeResolution,
  isoTime,
  Rejection,
  readRemember,
  refuseClaim,
  refuseResolution,
  subjectOf,
} from '@postern/core'
import type { Deciding, DecisionPlan } from './decide.ts'
import { checkReceipt, mayGrant, planDecision } from './decide.ts'

/** Decisions that callers bring with their messages (A2A). Here is checked what needs a look outside; the rest is the desk's. */
export function createDemandClaims(
  deciding: Deciding,
  { digestOf }: { digestOf(state: string): string },
): DemandClaims {
  return {
    async check(claim, { agent, sender }) {
      if (!sender.verified) throw refuseClaim('outcome', 'counts only of a caller who says who he is')
      const demand = await deciding.desk.findDemand({ digest: digestOf(claim.state) })
      if (!demand || demand.agent !== agent || demand.subject !== subjectOf(sender)) throw refuseResolution('unknown')
      if (claim.kind !== undefined && claim.kind !== demand.kind) throw refuseResolution('kind')
      const decision = planDecision(demand, await planClaim(claim, demand, { sender, deciding }))
      return { decision, resolution: describeResolution(demand, decision, isoTime(deciding.world.now())) }
    },
  }
}

interface Claiming {
  readonly sender: Sender
  readonly deciding: Deciding
}

async function planClaim(
  { outcome, receipt, remember: wanted }: DemandClaim,
  demand: DemandRecord,
  { sender, deciding }: Claiming,
): Promise<DecisionPlan> {
  const subject = sender.identities?.find(({ proof }) => proof.type === 'transport')?.subject
  const remember = readClaimedScope(wanted, demand)
  if (outcome === 'declined') return { method: 'principal', outcome, subject, remember }
  if (demand.kind === 'payment_required') {
    if (receipt === undefined) throw refuseClaim('receipt', 'is missing')
    // What is over already is told so when it is admitted, or was admitted before.
    const used = demand.status === 'open' ? await checkReceipt(demand, receipt, deciding) : undefined
    return { method: 'receipt', outcome, subject, receipt: used }
  }
  if (receipt !== undefined) throw refuseClaim('receipt', 'is not what was asked for')
  if (!mayGrant('principal', demand)) throw refuseClaim('outcome', 'is not for the caller to grant')
  return { method: 'principal', outcome, subject, remember }
}

function readClaimedScope(wanted: DemandClaim['remember'], demand: DemandRecord): DecisionPlan['remember'] {
  try {
    return readRemember(wanted, demand)
  } catch (error) {
    if (error instanceof Rejection && error.code === 'forbidden') throw refuseClaim('remember', 'is not offered')
    throw error
  }
}
