// Ends requirements that nobody has decided in time.

import { operatorSubject } from '@postern/message'
import type { OverdueStore, RequirementRecord } from '@postern/pipeline'
import { decideByTimeout, describeTimeout } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { PlanResolution, RequirementTable } from './requirement-table.ts'
import { createWaitingTaskFinder } from './waiting-task.ts'

interface OverdueStoreDeps {
  readonly requirements: RequirementTable
  readonly planResolution: PlanResolution
  readonly admitNewMessage: AdmitNewMessage
}

export function createOverdueStore(
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
  { requirements, planResolution, admitNewMessage }: OverdueStoreDeps,
): OverdueStore {
  const list = db.prepare<{ id: string }>(
    `SELECT id FROM requirements WHERE status = 'open' AND expires_at <= ? ORDER BY expires_at LIMIT +?`,
  )
  const endRequirement = db.prepare(
    `UPDATE requirements SET status = 'expired', resolved_at = ?2, resolver = ?3
     WHERE id = ?1 AND status = 'open' AND expires_at <= ?2`,
  )
  const findWaitingTask = createWaitingTaskFinder(db)
  /**
   * Returns true if the sender gets a message about the end. A sender who waits for an operator must be informed. A person knows that they did not
   * decide, but their task must not wait forever.
   */
  const notifiesSender = (requirement: RequirementRecord) =>
    requirement.subject === operatorSubject || findWaitingTask(requirement, now()) !== undefined
  return {
    listOverdue: async limit => list.all(now(), limit).flatMap(({ id }) => requirements.find({ id }, now()) ?? []),
    async endOverdue(id, correlationId) {
      const requirement = requirements.find({ id }, now())
      if (!requirement) return undefined
      const decision = decideByTimeout(requirement)
      const intake = correlationId === undefined ? undefined : planResolution(requirement, decision)
      const intakeWithNotice = intake && {
        ...intake,
        message: { ...intake.message, parts: describeTimeout(requirement) },
      }
      const draft =
        intakeWithNotice && correlationId !== undefined ? draftMessage(intakeWithNotice, correlationId) : undefined
      return write(batch => {
        const { changes } = endRequirement.run(id, now(), formatJson(decision.resolver))
        const admitResult =
          changes > 0 && draft && notifiesSender(requirement) ? admitNewMessage(batch, draft) : undefined
        return typeof admitResult === 'object' ? admitResult.message : undefined
      })
    },
  }
}
