// Ends requirements that nobody has decided in time.

import { operatorSubject } from '@postern/message'
import type { OverdueStore, RequirementRecord } from '@postern/pipeline'
import { decideByTimeout, describeTimeout } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import { formatJson } from '../sql/json-columns.ts'
import { flatMapInOrder } from '../sql/operation.ts'
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
  function* notifiesSender(requirement: RequirementRecord) {
    return requirement.subject === operatorSubject || (yield* findWaitingTask(requirement, now())) !== undefined
  }
  /** Finds a requirement whose time is over, with the message that ends it if it is to have one. */
  function* findOverdue(id: string, correlationId: string | undefined) {
    const requirement = yield* requirements.find({ id }, now())
    if (!requirement) return undefined
    const decision = decideByTimeout(requirement)
    const plannedIntake = correlationId === undefined ? undefined : yield* planResolution(requirement, decision)
    const parts = describeTimeout(requirement)
    const intake = plannedIntake && { ...plannedIntake, message: { ...plannedIntake.message, parts } }
    return { requirement, decision, intake }
  }
  return {
    listOverdue: limit =>
      db.read(function* () {
        return yield* flatMapInOrder(yield* list.all(now(), limit), function* ({ id }) {
          return (yield* requirements.find({ id }, now())) ?? []
        })
      }),
    async endOverdue(id, correlationId) {
      const overdue = await db.read(() => findOverdue(id, correlationId))
      if (!overdue) return undefined
      const { requirement, decision, intake } = overdue
      const draft = intake && correlationId !== undefined ? draftMessage(intake, correlationId) : undefined
      return write(function* (batch) {
        const changes = yield* endRequirement.change(id, now(), formatJson(decision.resolver))
        const admitResult =
          changes > 0 && draft && (yield* notifiesSender(requirement))
            ? yield* admitNewMessage(batch, draft)
            : undefined
        return typeof admitResult === 'object' ? admitResult.message : undefined
      })
    },
  }
}
