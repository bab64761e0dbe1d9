import type { EntryChange, TraceStore } from '@postern/core'
import { formatJson, prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { ProofKeyTable } from '../messages/proof-keys.ts'
import type { ReadMessage } from '../messages/reader.ts'
import { appendAttempt, formatAttempt } from '../turns/attempts.ts'
import { createTurnReader } from '../turns/turn-reader.ts'
import type { DeliveryList } from './delivery-list.ts'

interface ChangeRow {
  readonly seq: number
  readonly forgotten_at: number | null
  readonly retracted_at: number | null
  readonly edited_at: number | null
  readonly is_forgotten: 0 | 1
}

export interface TraceDeps {
  readonly proofKeys: ProofKeyTable
  readonly readMessage: ReadMessage
}

/** What the record of a message refers to. */
export function createTraceStore(
  { db, writeLightly }: StoreContext,
  tables: TraceDeps,
  deliveries: DeliveryList,
): TraceStore {
  const noteAttempt = prepareQuery(
    db,
    `UPDATE turns SET trace = ${appendAttempt('?1')} WHERE message = ?2 AND EXISTS (SELECT 1 FROM messages
       WHERE seq = ?2 AND kind = 'message' AND forgotten_at IS NULL)`,
  )
  const readTurn = createTurnReader(db, tables)
  const list = prepareQuery<ChangeRow>(
    db,
    `SELECT seq, forgotten_at, retracted_at, edited_at, scope = 'forgotten' AS is_forgotten FROM messages
     WHERE seq IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
  )
  return {
    findDelivery: deliveries.findDelivery,
    findProofKey: async digest => tables.proofKeys.find(digest),
    readTurn: async message => readTurn(message),
    async noteAttempt({ message }, attempt) {
      await writeLightly(() => noteAttempt.run(formatAttempt(attempt), message), { touches: () => [`turn ${message}`] })
    },
    async listChanges(seqs) {
      const rows = new Map(list.all(formatJson(seqs)).map(row => [row.seq, row]))
      return seqs.flatMap(seq => findChange(seq, rows.get(seq)) ?? [])
    },
  }
}

/** The last thing that became of it: what is taken back is edited no more. */
function findChange(seq: number, row: ChangeRow | undefined): EntryChange | undefined {
  if (!row) return { seq, how: 'forgotten' }
  const { forgotten_at, retracted_at, edited_at, is_forgotten } = row
  if (forgotten_at !== null) return { seq, how: 'forgotten', at: forgotten_at }
  if (retracted_at !== null) return { seq, how: 'retracted', at: retracted_at }
  if (is_forgotten) return { seq, how: 'forgotten' }
  return edited_at === null ? undefined : { seq, how: 'edited', at: edited_at }
}
