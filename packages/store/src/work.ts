import type { WorkStore } from '@postern/core'
import type { BackgroundDeps } from './background.ts'
import { createBackground } from './background.ts'
import type { BlobTable } from './blobs.ts'
import { createBroadcasts } from './broadcasts.ts'
import type { CommitDeps } from './commit.ts'
import { createCommit } from './commit.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import type { DeliveryLeaseDeps } from './deliveries.ts'
import { createDeliveryLeases, createSettle } from './deliveries.ts'
import type { DeliveryTable } from './delivery-table.ts'
import { createFileKeeping } from './kept-files.ts'
import { createNoting } from './notes.ts'
import type { StoreContext } from './store-context.ts'
import { createStreamedAnswers } from './streamed-answers.ts'
import type { TaskTable } from './task-table.ts'
import type { TurnLeaseDeps } from './turns.ts'
import { createTurnLeases } from './turns.ts'

/** What is written of turns and deliveries while somebody works on them. */
interface WorkStoreDeps extends CommitDeps, BackgroundDeps, TurnLeaseDeps, DeliveryLeaseDeps {
  readonly tasks: TaskTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createWorkStore(context: StoreContext, tables: WorkStoreDeps): WorkStore {
  const { renewTurn, ...turns } = createTurnLeases(context, tables)
  const { renewDelivery, ...deliveries } = createDeliveryLeases(context, tables)
  const findNextDue = prepareQuery<{ due_at: number | null }>(
    context.db,
    `SELECT min(due_at) AS due_at FROM (
       SELECT min(due_at) AS due_at FROM turns WHERE due_at IS NOT NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NOT NULL
       UNION ALL SELECT min(due_at) FROM broadcasts WHERE due_at IS NOT NULL)`,
  )
  return {
    ...turns,
    ...deliveries,
    ...createBackground(context, tables),
    ...createFileKeeping(context, tables),
    ...createCommit(context, tables),
    ...createNoting(context, tables),
    ...createStreamedAnswers(context, tables),
    ...createBroadcasts(context, tables),
    ...createSettle(context, tables),
    renew: (work, leaseMs) => ('thread' in work ? renewTurn(work, leaseMs) : renewDelivery(work, leaseMs)),
    nextDue: async () => findNextDue.get()?.due_at ?? undefined,
  }
}

/** What a process held that is gone is due at once: only for a store that nobody else has open. */
export function endAllLeases(db: Database, now: number): void {
  for (const table of ['turns', 'deliveries', 'broadcasts']) {
    prepareQuery(db, `UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND holder IS NOT NULL`).run(now)
  }
}
