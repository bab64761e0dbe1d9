// Reads due deliveries with their messages and answers for a worker.
import type { Json } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import type { ReadMessage, StoredMessage } from '../../messages/read-message.ts'
import type { ResponseTable } from '../../messages/responses.ts'
import { parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import { runTogether } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { DueDelivery } from './due-deliveries.ts'

type ReadBroadcast = (id: number) => Operation<Json>

export function createBroadcastReader(db: Sql): ReadBroadcast {
  const find = db.prepare<{ target: string }>('SELECT target FROM broadcasts WHERE id = ?')
  return function* (id) {
    return parseJson((yield* find.get(id))?.target ?? 'null')
  }
}

interface DeliveryReaders {
  readonly readMessage: ReadMessage
  readonly responses: Pick<ResponseTable, 'read'>
  readonly readBroadcast: ReadBroadcast
}

/** Reads the deliveries of due rows. An answer to many destinations is read only once. */
export function* readDeliveries(
  dueDeliveries: readonly DueDelivery[],
  { readMessage, responses, readBroadcast }: DeliveryReaders,
): Operation<readonly Delivery[]> {
  function* readDistinct<T>(
    numbers: readonly (number | null)[],
    read: (number: number) => Operation<T>,
  ): Operation<ReadonlyMap<number, T>> {
    const distinctNumbers = [...new Set(numbers)].filter(number => number !== null)
    const values = yield* runTogether(distinctNumbers.map(number => () => read(number)))
    return new Map(distinctNumbers.map((number, index) => [number, values[index] as T]))
  }
  const messages = yield* readDistinct(
    dueDeliveries.map(({ message }) => message),
    readMessage,
  )
  const responsesBySeq = yield* readDistinct(
    dueDeliveries.map(({ response_seq }) => response_seq),
    responses.read,
  )
  const broadcasts = yield* readDistinct(
    dueDeliveries.map(({ broadcast }) => broadcast),
    readBroadcast,
  )
  return dueDeliveries.map(row => {
    const broadcast = row.broadcast === null ? undefined : broadcasts.get(row.broadcast)
    const answer = row.response_seq === null ? undefined : responsesBySeq.get(row.response_seq)
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
    ...(row.tried_at !== null && { firstAttemptAt: row.tried_at }),
    via: message.via,
    agent: message.agent,
    thread: message.thread,
    to: row.destination,
    target: parseJson(row.target),
    correlationId: message.correlationId,
    message: message.content,
  }
}
