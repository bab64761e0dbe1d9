import type { OverdueStore } from '@postern/core'
import { decideByTimeout, operatorSubject, sayOverdue } from '@postern/core'
import { formatJson } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { AdmitNew } from '../messages/refusals.ts'
import { draftIntake } from '../messages/table.ts'
import type { PlanResolution, RequirementTable } from './table.ts'

interface OverdueStoreDeps {
  readonly requirements: RequirementTable
  readonly planResolution: PlanResolution
  readonly admitNew: AdmitNew
}

export function createOverdueStore(
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
  { requirements, planResolution, admitNew }: OverdueStoreDeps,
): OverdueStore {
  const list = db.prepare<{ id: string }>(
    `SELECT id FROM requirements WHERE status = 'open' AND subject = '${operatorSubject}' AND expires_at <= ? ORDER BY expires_at LIMIT +?`,
  )
  const end = db.prepare(
    `UPDATE requirements SET status = 'expired', resolved_at = ?2, resolver = ?3
     WHERE id = ?1 AND status = 'open' AND subject = '${operatorSubject}' AND expires_at <= ?2`,
  )
  return {
    listOverdue: async limit => list.all(now(), limit).flatMap(({ id }) => requirements.find({ id }, now()) ?? []),
    async endOverdue(id, correlationId) {
      const requirement = requirements.find({ id }, now())
      if (!requirement) return undefined
      const decision = decideByTimeout(requirement)
      const intake = correlationId === undefined ? undefined : planResolution(requirement, decision)
      const said = intake && { ...intake, message: { ...intake.message, parts: sayOverdue(requirement) } }
      const draft = said && correlationId !== undefined ? draftIntake(said, correlationId) : undefined
      return write(batch => {
        const { changes } = end.run(id, now(), formatJson(decision.resolver))
        const admitted = changes > 0 && draft ? admitNew(batch, draft) : undefined
        return typeof admitted === 'object' ? admitted.message : undefined
      })
    },
  }
}
