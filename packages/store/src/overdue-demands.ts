import type { OverdueDesk } from '@postern/core'
import { decideByTimeout, operatorSubject, sayOverdue } from '@postern/core'
import { formatJson, prepareQuery } from './database.ts'
import type { AdmitNew } from './intake.ts'
import { draftIntake } from './message-draft.ts'
import type { PlanResolution } from './resolution-plan.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

export interface OverdueParts {
  readonly demands: Tables['demands']
  readonly planResolution: PlanResolution
  readonly admitNew: AdmitNew
}

export function createOverdueDesk(
  { db, write, now }: Pick<Store, 'db' | 'write' | 'now'>,
  { demands, planResolution, admitNew }: OverdueParts,
): OverdueDesk {
  const list = prepareQuery<{ id: string }>(
    db,
    `SELECT id FROM demands WHERE status = 'open' AND subject = '${operatorSubject}' AND expires_at <= ? ORDER BY expires_at LIMIT +?`,
  )
  const end = prepareQuery(
    db,
    `UPDATE demands SET status = 'expired', resolved_at = ?2, resolver = ?3
     WHERE id = ?1 AND status = 'open' AND subject = '${operatorSubject}' AND expires_at <= ?2`,
  )
  return {
    listOverdue: async limit => list.all(now(), limit).flatMap(({ id }) => demands.find({ id }, now()) ?? []),
    async endOverdue(id, correlationId) {
      const demand = demands.find({ id }, now())
      if (!demand) return undefined
      const decision = decideByTimeout(demand)
      const intake = correlationId === undefined ? undefined : planResolution(demand, decision)
      const said = intake && { ...intake, message: { ...intake.message, parts: sayOverdue(demand) } }
      const draft = said && correlationId !== undefined ? draftIntake(said, correlationId) : undefined
      return write(batch => {
        const { changes } = end.run(id, now(), formatJson(decision.resolver))
        const admitted = changes > 0 && draft ? admitNew(batch, draft) : undefined
        return typeof admitted === 'object' ? admitted.message : undefined
      })
    },
  }
}
