import type { DemandDecision, DemandDesk, DemandRecord, Resolved } from '@postern/core'
import type { Batch } from './batch.ts'
import type { AdmitNew } from './intake.ts'
import type { MessageDraft } from './message-draft.ts'
import { draftIntake } from './message-draft.ts'
import type { PlanResolution } from './resolution-plan.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface Decided {
  readonly demand: DemandRecord
  readonly decision: DemandDecision
  readonly draft: MessageDraft
}

export interface DemandParts {
  readonly admitNew: AdmitNew
  readonly planResolution: PlanResolution
}

export function createDemandDesk(
  { write, now }: Pick<Store, 'write' | 'now'>,
  tables: Pick<Tables, 'demands'>,
  { admitNew, planResolution }: DemandParts,
): DemandDesk {
  const { demands } = tables
  function admitDecision(batch: Batch, { demand, decision, draft }: Decided): Resolved {
    const admitted = admitNew(batch, draft)
    const isRefused = typeof admitted === 'string'
    // Another task may still decide it.
    if (isRefused && decision.task) return { outcome: 'refused', reason: 'taken', demand }
    if (isRefused) demands.expire(demand)
    else demands.use(demand, decision, now())
    const after = demands.find({ digest: decision.digest }, now()) ?? demand
    return isRefused
      ? { outcome: 'refused', reason: 'ended', demand: after }
      : { outcome: 'resolved', demand: after, message: admitted.message }
  }

  return {
    findDemand: async key => demands.find(key, now()),
    listDemands: async ({ status, subject, limit, after = Number.MAX_SAFE_INTEGER }) =>
      demands.list({ status, subject, limit, after }, now()),
    listRemembered: async filter => demands.remembered.list(filter, now()),
    findRemembered: async key => demands.remembered.find(key, now()),
    findRememberedOf: async demand => demands.remembered.findOf(demand, now()),
    revokeRemembered: key => write(() => demands.remembered.remove(key)),
    async resolveDemand(decision, correlationId): Promise<Resolved> {
      const demand = demands.find({ digest: decision.digest }, now())
      if (!demand) return { outcome: 'refused', reason: 'unknown' }
      const draft = draftIntake(planResolution(demand, decision), correlationId)
      return write((batch): Resolved => {
        const current = demands.find({ digest: decision.digest }, now())
        if (!current) return { outcome: 'refused', reason: 'unknown' }
        const objection = demands.findObjection(current, decision)
        if (objection) return { outcome: 'refused', reason: objection, demand: current }
        return admitDecision(batch, { demand: current, decision, draft })
      })
    },
  }
}
