import type { WorkStore } from '@postern/core'
import { createFileKeeping } from '../blobs/objects.ts'
import type { BlobTable } from '../blobs/table.ts'
import type { BackgroundDeps } from '../conversations/background.ts'
import { createBackgroundStore } from '../conversations/background.ts'
import { createBroadcasts } from '../deliveries/broadcasts.ts'
import type { DeliveryLeaseDeps } from '../deliveries/leases.ts'
import { createDeliveryLeases } from '../deliveries/leases.ts'
import type { DeliveryOffer, DeliveryTable } from '../deliveries/queue.ts'
import { createSettle } from '../deliveries/queue.ts'
import type { Sql } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { forgetStoredWords } from '../messages/table.ts'
import type { TaskTable } from '../tasks/table.ts'
import type { TurnLeaseDeps } from '../turns/leases.ts'
import { createTurnLeases } from '../turns/leases.ts'
import { createNoting, createStreamedAnswers } from '../turns/note-table.ts'
import type { TurnOffer } from '../turns/turn-offer.ts'
import type { ActionWriterDeps } from './actions.ts'
import { createActionWriting } from './actions.ts'
import type { TurnCommitDeps } from './commit.ts'
import { createCommit } from './commit.ts'

/** What is written of turns and deliveries while somebody works on them. */
interface WorkStoreDeps extends TurnCommitDeps, ActionWriterDeps, BackgroundDeps, TurnLeaseDeps, DeliveryLeaseDeps {
  readonly turnOffer: TurnOffer
  readonly deliveryOffer: DeliveryOffer
  readonly tasks: TaskTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createWorkStore(context: StoreContext, tables: WorkStoreDeps): WorkStore {
  const { renewTurn, ...turns } = createTurnLeases(context, tables)
  const { renewDelivery, ...deliveries } = createDeliveryLeases(context, tables)
  const fileKeeping = createFileKeeping(context, tables)
  const findNextDue = context.db.prepare<{ due_at: number | null }>(
    `SELECT min(due_at) AS due_at FROM (
       SELECT min(due_at) AS due_at FROM turns WHERE due_at IS NOT NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NULL
       UNION ALL SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND broadcast IS NOT NULL
       UNION ALL SELECT min(due_at) FROM broadcasts WHERE due_at IS NOT NULL)`,
  )
  return {
    ...turns,
    ...deliveries,
    ...createBackgroundStore(context, tables),
    ...createCommit(context, tables, createActionWriting(context.db, tables)),
    ...createNoting(context, tables),
    ...createStreamedAnswers(context, tables),
    ...createBroadcasts(context, tables),
    ...createSettle(context, tables),
    ...listOffers(tables),
    async keepFiles(turn, kept) {
      await fileKeeping.keepFiles(turn, kept)
      forgetStoredWords(turn.content)
    },
    renew: (work, leaseMs) => ('content' in work ? renewTurn(work, leaseMs) : renewDelivery(work, leaseMs)),
    nextDue: async () => findNextDue.get()?.due_at ?? undefined,
  }
}

function listOffers({ turnOffer, deliveryOffer }: Pick<WorkStoreDeps, 'turnOffer' | 'deliveryOffer'>) {
  const [{ offerTurns }, { offerDeliveries }] = [turnOffer, deliveryOffer]
  return { ...(offerTurns && { offerTurns }), ...(offerDeliveries && { offerDeliveries }) }
}

/** What a process held that is gone is due at once: only for a store that nobody else has open. */
export function endAllLeases(db: Sql, now: number): void {
  for (const table of ['turns', 'deliveries', 'broadcasts']) {
    db.prepare(`UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND lease_owner IS NOT NULL`).run(now)
  }
}
