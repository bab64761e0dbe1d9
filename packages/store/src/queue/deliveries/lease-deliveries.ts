// Leases due deliveries to workers.
import type { Delivery, WorkStore } from '@postern/pipeline'
import type { ReadMessage } from '../../messages/read-message.ts'
import type { ResponseTable } from '../../messages/responses.ts'
import { formatJson } from '../../sql/json-columns.ts'
import type { Sql } from '../../sql/sql.ts'
import { deliveryConflict, destinationConflict } from '../../transaction/conflict-keys.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { InDoubtPoll } from '../in-doubt-leases.ts'
import { createInDoubtLeases } from '../in-doubt-leases.ts'
import { leaseByShares } from '../lease-by-shares.ts'
import { refuseLostLease } from '../lost-lease.ts'
import type { DeliveryTable } from './delivery-table.ts'
import type { DueDelivery } from './due-deliveries.ts'
import { prepareDueDeliveries } from './due-deliveries.ts'
import type { InProcessDeliveries } from './in-process-deliveries.ts'
import { createBroadcastReader, readDeliveries } from './read-deliveries.ts'

/** The tables that leasing deliveries needs. */
export interface DeliveryLeaseDeps {
  readonly deliveries: Pick<DeliveryTable, 'endGivenUp'>
  readonly readMessage: ReadMessage
  readonly responses: ResponseTable
  readonly inProcessDeliveries: Pick<InProcessDeliveries, 'limitRequest' | 'endPoll' | 'inDoubt'>
}

/** Creates the functions that lease deliveries, in the order in which they are due, and renew their leases. */
export function createDeliveryLeases(
  context: StoreContext,
  tables: DeliveryLeaseDeps,
): Pick<WorkStore, 'leaseDeliveries'> & { readonly renewDelivery: RenewDelivery } {
  const { db, writeLast, now } = context
  const endLapsedDeliveries = createLapsedEnding(context, tables)
  const findDue = {
    answer: prepareDueDeliveries(db, 'broadcast IS NULL'),
    broadcast: prepareDueDeliveries(db, 'broadcast IS NOT NULL'),
  }
  const readBroadcast = createBroadcastReader(db)
  // Answers and broadcasts may be polled in one transaction. Each rank has its own leases in doubt, so that neither poll releases leases of the other.
  const inDoubtByRank = {
    answer: createInDoubtLeases(db, { table: 'deliveries', idColumn: 'number' }),
    broadcast: createInDoubtLeases(db, { table: 'deliveries', idColumn: 'number' }),
  }
  const claimAll = createClaim(db)
  const { inProcessDeliveries } = tables
  const lease = (request: Parameters<WorkStore['leaseDeliveries']>[0], answersPoll?: InDoubtPoll) =>
    inDoubtByRank[request.rank].track(poll =>
      writeLast(function* (batch) {
        const { rank, holder, leaseMs } = request
        const { limit, shares } = inProcessDeliveries.limitRequest(request)
        const at = now()
        yield* poll.makeWorkDue(at)
        if (answersPoll) yield* answersPoll.makeWorkDue(at)
        if (limit <= 0) return { work: [], lapsedDeliveries: [] }
        const lapsedDeliveries: DueDelivery[] = []
        const { rows, readyCount, heldByOthers } = yield* leaseByShares(
          { limit, shares },
          {
            find: (fullHosts, rowLimit) => findDue[rank].all(at, formatJson(fullHosts), rowLimit),
            claimAll: dueRows => claimAll(dueRows, { poll, holder, expiresAt: at + leaseMs }),
            getGroup: ({ host }) => host,
            isBusy: row => row.withdrawn_at !== null && lapsedDeliveries.push(row) > 0,
          },
        )
        const work = yield* readDeliveries(rows, { ...tables, readBroadcast })
        inProcessDeliveries.endPoll(batch, request, { work, readyCount, heldByOthers })
        return { work, lapsedDeliveries }
      }),
    )
  return {
    async leaseDeliveries(request) {
      const isForAnswers = request.rank === 'answer'
      const leased = isForAnswers ? inProcessDeliveries.inDoubt.track(poll => lease(request, poll)) : lease(request)
      const { work, lapsedDeliveries } = await leased
      // After an error, the next poll tries this again. The caller gets its leased work in any case.
      if (lapsedDeliveries.length > 0) await endLapsedDeliveries(lapsedDeliveries).catch(() => undefined)
      return work
    },
    renewDelivery: createRenewal(context),
  }
}

interface Claim {
  readonly poll: InDoubtPoll
  readonly holder: string
  readonly expiresAt: number
}

/** Prepares the lease of all rows of a poll with one statement. */
function createClaim(db: Sql): (dueRows: readonly DueDelivery[], claim: Claim) => void {
  const claimAll = db.prepare(
    `UPDATE deliveries SET due_at = ?, lease_token = lease_token + 1, attempt = attempt + 1, lease_owner = ?
     WHERE number IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
  )
  return (dueRows, { poll, holder, expiresAt }) => {
    claimAll.run(expiresAt, holder, formatJson(dueRows.map(({ number }) => number)))
    for (const { number, lease_token } of dueRows)
      poll.recordLease({ workNumber: number, token: lease_token + 1, holder, expiresAt })
  }
}

type RenewDelivery = (delivery: Delivery, leaseMs: number) => Promise<void>

function createRenewal({ db, writeLightly, now }: StoreContext): RenewDelivery {
  const renew = db.prepare(
    'UPDATE deliveries SET due_at = ? WHERE number = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  return async ({ id, token }, leaseMs) =>
    refuseLostLease(
      await writeLightly(() => renew.change(now() + leaseMs, Number(id), token), {
        conflictKeys: () => [deliveryConflict({ id })],
      }),
      `delivery ${id}`,
    )
}

/**
 * Prepares the end of deliveries that were given up during the attempt of a worker that has disappeared. The next deliveries to their destinations
 * follow.
 */
function createLapsedEnding(
  { db, write, now }: StoreContext,
  { deliveries }: Pick<DeliveryLeaseDeps, 'deliveries'>,
): (lapsed: readonly DueDelivery[]) => Promise<void> {
  const findLapsed = db.prepare(
    `SELECT 1 FROM deliveries WHERE number = ? AND withdrawn_at IS NOT NULL AND ended_at IS NULL AND due_at <= ? ${db.rowLocks.wait}`,
  )
  return lapsed =>
    write(
      function* (batch) {
        for (const delivery of lapsed)
          if (yield* findLapsed.get(delivery.number, now())) yield* deliveries.endGivenUp(batch, delivery, now())
      },
      {
        conflictKeys: () =>
          lapsed.flatMap(({ number, thread_id, destination }) => [
            deliveryConflict({ id: String(number) }),
            destinationConflict(thread_id, destination),
          ]),
      },
    )
}
