import type { Delivery, Json, WorkStore } from '@postern/core'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, readTogether, refuseLostLease, rowLocksOf } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { UnsureLook } from '../engine/unsure-leases.ts'
import { createUnsureLeases } from '../engine/unsure-leases.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { ReadMessage, StoredMessage } from '../messages/table.ts'
import { touchedDelivery } from '../together/touched.ts'
import { takeShares } from '../turns/queue.ts'
import type { DeliveryOffer } from './queue.ts'

interface DueDelivery {
  readonly number: number
  readonly message: number
  readonly response_seq: number | null
  readonly destination: string
  readonly host: string | null
  readonly target: string
  readonly lease_token: number
  readonly attempt: number
  readonly queued_at: number
  readonly broadcast: number | null
}

export interface DeliveryLeaseDeps {
  readonly readMessage: ReadMessage
  readonly responses: ResponseTable
  readonly deliveryOffer: Pick<DeliveryOffer, 'limitRequest' | 'hold' | 'unsure'>
}

/** Deliveries are taken up here, in the order they fell due. */
export function createDeliveryLeases(
  { db, writeLightly, writeLast, now }: StoreContext,
  tables: DeliveryLeaseDeps,
): Pick<WorkStore, 'leaseDeliveries'> & {
  readonly renewDelivery: (delivery: Delivery, leaseMs: number) => Promise<void>
} {
  const findDue = { answer: prepareDue(db, 'broadcast IS NULL'), broadcast: prepareDue(db, 'broadcast IS NOT NULL') }
  const readBroadcast = createBroadcastReader(db)
  // Of both ranks in one transaction, neither gives back what the other has just taken.
  const unsureOf = {
    answer: createUnsureLeases(db, { table: 'deliveries', number: 'number' }),
    broadcast: createUnsureLeases(db, { table: 'deliveries', number: 'number' }),
  }
  const claim = db.prepare(
    'UPDATE deliveries SET due_at = ?, lease_token = lease_token + 1, attempt = attempt + 1, lease_owner = ? WHERE number = ?',
  )
  const renew = db.prepare(
    'UPDATE deliveries SET due_at = ? WHERE number = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const { deliveryOffer } = tables
  const lease = (request: Parameters<WorkStore['leaseDeliveries']>[0], ofAnswers?: UnsureLook) =>
    unsureOf[request.rank].watch(look =>
      writeLast(batch => {
        const { rank, holder, leaseMs } = request
        const { limit, shares } = deliveryOffer.limitRequest(batch, request)
        const at = now()
        look.giveBack(batch, at)
        ofAnswers?.giveBack(batch, at)
        if (limit <= 0) return []
        const { taken, seen, elsewhere } = takeShares(
          { limit, shares },
          {
            find: (full, rest) => findDue[rank].all(at, formatJson(full), rest),
            claim({ number, lease_token }) {
              claim.run(at + leaseMs, holder, number)
              look.note({ number, token: lease_token + 1, holder, until: at + leaseMs })
            },
            groupOf: ({ host }) => host,
          },
        )
        const works = readDeliveries(taken, { ...tables, db, readBroadcast })
        deliveryOffer.hold(batch, request, { works, seen, elsewhere })
        return works
      }),
    )
  return {
    leaseDeliveries: request =>
      request.rank === 'answer' ? deliveryOffer.unsure.watch(look => lease(request, look)) : lease(request),
    renewDelivery: async ({ id, token }, leaseMs) =>
      refuseLostLease(
        await writeLightly(() => renew.run(now() + leaseMs, Number(id), token).changes, {
          touches: () => [touchedDelivery({ id })],
        }),
        `delivery ${id}`,
      ),
  }
}

/** Each rank has an index of its own. */
function prepareDue(db: Sql, isOfRank: string) {
  return db.prepare<DueDelivery>(
    `SELECT number, message, response_seq, destination, host, target, lease_token, attempt, queued_at, broadcast
     FROM deliveries WHERE ${isOfRank} AND due_at <= ? AND coalesce(host, '') NOT IN (SELECT value FROM json_each(?))
     ORDER BY due_at LIMIT +? ${rowLocksOf(db).skipLocked}`,
  )
}

type ReadBroadcast = (id: number) => Json

function createBroadcastReader(db: Sql): ReadBroadcast {
  const find = db.prepare<{ target: string }>('SELECT target FROM broadcasts WHERE id = ?')
  return id => parseJson(find.get(id)?.target ?? 'null')
}

interface DeliveryReaders extends DeliveryLeaseDeps {
  readonly db: Sql
  readonly readBroadcast: ReadBroadcast
}

/** An answer to many places is read once. */
function readDeliveries(
  due: readonly DueDelivery[],
  { db, readMessage, responses, readBroadcast }: DeliveryReaders,
): readonly Delivery[] {
  const readEach = <T>(numbers: readonly (number | null)[], read: (number: number) => T): ReadonlyMap<number, T> => {
    const each = [...new Set(numbers)].filter(number => number !== null)
    const values = readTogether(
      db,
      each.map(number => () => read(number)),
    )
    return new Map(each.map((number, at) => [number, values[at] as T]))
  }
  const messages = readEach(
    due.map(({ message }) => message),
    readMessage,
  )
  const said = readEach(
    due.map(({ response_seq }) => response_seq),
    responses.read,
  )
  const broadcasts = readEach(
    due.map(({ broadcast }) => broadcast),
    readBroadcast,
  )
  return due.map(row => {
    const broadcast = row.broadcast === null ? undefined : broadcasts.get(row.broadcast)
    const answer = row.response_seq === null ? undefined : said.get(row.response_seq)
    const message = messages.get(row.message) as StoredMessage
    return { ...toDelivery(row, message), ...answer, ...(broadcast !== undefined && { broadcast }) }
  })
}

function toDelivery(row: DueDelivery, message: StoredMessage): Delivery {
  return {
    id: String(row.number),
    token: row.lease_token + 1,
    attempt: row.attempt + 1,
    queuedAt: row.queued_at,
    via: message.via,
    agent: message.agent,
    thread: message.thread,
    to: row.destination,
    target: parseJson(row.target),
    correlationId: message.correlationId,
    message: message.content,
  }
}
