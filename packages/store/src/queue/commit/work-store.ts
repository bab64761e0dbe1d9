// Assembles the store of turns and deliveries for workers.
import type { WorkStore } from '@postern/pipeline'
import { createFileAttacher } from '../../blobs/attach-files.ts'
import type { BlobTable } from '../../blobs/blob-table.ts'
import { createNoteStore, createStreamedAnswers } from '../../messages/notes.ts'
import { dropStoredReader } from '../../messages/stored-reader.ts'
import type { FileSql } from '../../sql/file-sql.ts'
import type { TaskTable } from '../../tasks/task-table.ts'
import type { BackgroundDeps } from '../../threads/background.ts'
import { createBackgroundStore } from '../../threads/background.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { createBroadcasts, nextBroadcastCondition } from '../deliveries/broadcasts.ts'
import type { DeliveryTable } from '../deliveries/delivery-table.ts'
import type { InProcessDeliveries } from '../deliveries/in-process-deliveries.ts'
import type { DeliveryLeaseDeps } from '../deliveries/lease-deliveries.ts'
import { createDeliveryLeases } from '../deliveries/lease-deliveries.ts'
import { createSettle } from '../deliveries/settle-delivery.ts'
import type { InProcessTurns } from '../turns/in-process-turns.ts'
import type { TurnLeaseDeps } from '../turns/lease-turns.ts'
import { createTurnLeases } from '../turns/lease-turns.ts'
import type { ActionWriterDeps } from './actions.ts'
import { createActionWriter } from './actions.ts'
import type { TurnCommitDeps } from './commit.ts'
import { createCommit } from './commit.ts'

/** The tables to which leases, commits and settlements write. */
interface WorkStoreDeps extends TurnCommitDeps, ActionWriterDeps, BackgroundDeps, TurnLeaseDeps, DeliveryLeaseDeps {
  readonly inProcessTurns: InProcessTurns
  readonly inProcessDeliveries: InProcessDeliveries
  readonly tasks: TaskTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createWorkStore(context: StoreContext, tables: WorkStoreDeps): WorkStore {
  const { renewTurn, ...turns } = createTurnLeases(context, tables)
  const { renewDelivery, ...deliveries } = createDeliveryLeases(context, tables)
  const fileAttacher = createFileAttacher(context, tables)
  const findNextDue = context.db.prepare<{ due_at: number | null }>(
    `SELECT min(due_at) AS due_at FROM (
       SELECT min(due_at) AS due_at FROM turns WHERE due_at IS NOT NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NOT NULL
       UNION ALL SELECT min(due_at) FROM broadcasts WHERE ${nextBroadcastCondition})`,
  )
  return {
    ...turns,
    ...deliveries,
    ...createBackgroundStore(context, tables),
    ...createCommit(context, tables, createActionWriter(context.db, tables)),
    ...createNoteStore(context, tables),
    ...createStreamedAnswers(context, tables),
    ...createBroadcasts(context, tables),
    ...createSettle(context, tables),
    ...listConsumerSetters(tables),
    async attachFiles(turn, files) {
      await fileAttacher.attachFiles(turn, files)
      dropStoredReader(turn.content)
    },
    renew: (work, leaseMs) => ('content' in work ? renewTurn(work, leaseMs) : renewDelivery(work, leaseMs)),
    findNextDueAt: () =>
      context.db.read(function* () {
        return (yield* findNextDue.get())?.due_at ?? undefined
      }),
  }
}

function listConsumerSetters({
  inProcessTurns,
  inProcessDeliveries,
}: Pick<WorkStoreDeps, 'inProcessTurns' | 'inProcessDeliveries'>) {
  const [{ setTurnConsumer }, { setDeliveryConsumer }] = [inProcessTurns, inProcessDeliveries]
  return { ...(setTurnConsumer && { setTurnConsumer }), ...(setDeliveryConsumer && { setDeliveryConsumer }) }
}

/** Makes all leased work due at once. Only a store that no other process uses may do this, when it is opened. */
export function endAllLeases(db: FileSql, now: number): void {
  for (const table of ['turns', 'deliveries', 'broadcasts']) {
    db.prepare(`UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND lease_owner IS NOT NULL`).run(now)
  }
}
