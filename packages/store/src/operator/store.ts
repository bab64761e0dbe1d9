import type {
  ChannelName,
  DeliveryRecord,
  EntryChange,
  MessageState,
  OperatorStore,
  StoreCounts,
  TraceStore,
} from '@postern/core'
import { stopFlags } from '@postern/core'
import type { CounterName, Sql } from '../engine/database.ts'
import { formatJson, readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { ReadMessage } from '../messages/table.ts'
import type { ProofKeyTable } from '../peers/senders.ts'
import { appendAttempt, createTurnReader, formatAttempt } from '../turns/queue.ts'
import type { DeliveryControlDeps } from './delivery-control.ts'
import { createDeliveryControl } from './delivery-control.ts'
import type { DeliveryList } from './delivery-list.ts'
import { createDeliveryList } from './delivery-list.ts'
import { createWindowFinder } from './list-window.ts'
import type { MessageViewDeps } from './message-view.ts'
import { createMessageView } from './message-view.ts'
import type { Refusals } from './refusals.ts'

export function createOperatorStore(
  context: StoreContext,
  tables: MessageViewDeps & DeliveryControlDeps & TraceDeps,
  refusals: Refusals,
): OperatorStore & TraceStore {
  const readTotals = createTotalsReader(context.db)
  const deliveryList = createDeliveryList(context.db)
  return {
    ...createMessageView(context.db, tables, deliveryList),
    ...createDeliveryControl(context, tables),
    ...createTraceStore(context, tables, deliveryList),
    ...createFigures(context.db),
    findListWindow: createWindowFinder(context.db),
    listDeliveries: deliveryList.listDeliveries,
    listRefusals: refusals.listRefusals,
    async count() {
      await refusals.flush()
      const totals = await readAfterWait(context.db, readTotals)
      return toCounts(totals, refusals.pending())
    },
  }
}

type Totals = ReadonlyMap<CounterName, number>

function createTotalsReader(db: Sql): () => Totals {
  const readAll = db.prepare<{ name: CounterName; value: number }>(
    'SELECT name, sum(value) AS value FROM counters GROUP BY name',
  )
  return () => new Map(readAll.all().map(({ name, value }) => [name, value]))
}

const messageStates: readonly MessageState[] = ['received', 'working', 'answered', 'failed', 'ignored']
const deliveryStates: readonly DeliveryRecord['state'][] = ['queued', 'sent', 'later', 'dead', 'dismissed']

function toCounts(totals: Totals, pendingRefusals: number): StoreCounts {
  const pick = <State extends string>(kind: 'messages' | 'deliveries' | 'stopped', states: readonly State[]) =>
    Object.fromEntries(states.map(state => [state, totals.get(`${kind}.${state}` as CounterName) ?? 0]))
  return {
    messages: pick('messages', messageStates) as StoreCounts['messages'],
    deliveries: pick('deliveries', deliveryStates) as StoreCounts['deliveries'],
    stopped: pick('stopped', stopFlags) as StoreCounts['stopped'],
    refusals: (totals.get('refusals') ?? 0) + pendingRefusals,
  }
}

interface HostRow {
  readonly host: string
  readonly deliveries: number
  readonly failing: number
  readonly oldest_at: number
  readonly next_at: number | null
}

interface TimingRow {
  readonly channel: ChannelName
  readonly at: string
  readonly ended_at: number | null
}

/** How much waits, and how long messages take. */
function createFigures(db: Sql): Pick<OperatorStore, 'listWaitingHosts' | 'listTimings'> {
  // Mailboxes and names that are looked up have no host of their own: their domain stands for it.
  const listHosts = db.prepare<HostRow>(
    `SELECT coalesce(d.host, lower(substr(ltrim(d.destination, '@'), instr(ltrim(d.destination, '@'), '@') + 1))) AS host, count(*) AS deliveries,
       count(CASE WHEN d.state = 'later' THEN 1 END) AS failing, min(d.queued_at) AS oldest_at,
       min(CASE WHEN d.lease_owner IS NULL THEN d.due_at END) AS next_at
     FROM deliveries d INDEXED BY deliveries_open WHERE d.ended_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT +?`,
  )
  // Numbers rise with time: nothing is read that came before the first message that is too old.
  const listNewest = db.prepare<TimingRow>(
    `SELECT m.channel, m.at, t.ended_at FROM messages m LEFT JOIN turns t ON t.message = m.seq
     WHERE m.kind = 'message' AND m.seq >= ? AND m.at >= ? ORDER BY m.seq DESC LIMIT +?`,
  )
  const findNewest = db.prepare<{ readonly seq: number | null }>('SELECT max(seq) AS seq FROM messages')
  const findEarlier = db.prepare<{ readonly seq: number }>(
    "SELECT seq FROM messages WHERE kind = 'message' AND seq >= ? AND at < ? ORDER BY seq DESC LIMIT 1",
  )
  return {
    listWaitingHosts: async limit =>
      listHosts.all(limit).map(({ host, deliveries, failing, oldest_at, next_at }) => ({
        ...{ host, deliveries, failing, oldestAt: oldest_at },
        ...(next_at !== null && { nextAt: next_at }),
      })),
    async listTimings({ since, limit }) {
      // Answers and notes stand among the messages.
      const floor = (findNewest.get()?.seq ?? 0) - limit * rowsPerMessage
      const earlier = findEarlier.get(floor, since)?.seq
      const newest = listNewest.all(earlier ?? floor, since, limit)
      const timings = newest.map(({ channel, at, ended_at }) => {
        const cameAt = Date.parse(at)
        return { channel, at: cameAt, ...(ended_at !== null && { tookMs: Math.max(0, ended_at - cameAt) }) }
      })
      return { timings, isWhole: timings.length < limit && (earlier !== undefined || floor <= 0) }
    },
  }
}

/** A list of messages reads this many rows for each at most. */
const rowsPerMessage = 4

interface ChangeRow {
  readonly seq: number
  readonly forgotten_at: number | null
  readonly retracted_at: number | null
  readonly edited_at: number | null
  readonly is_forgotten: 0 | 1
}

interface TraceDeps {
  readonly proofKeys: ProofKeyTable
  readonly readMessage: ReadMessage
}

/** What the record of a message refers to. */
function createTraceStore({ db, writeLightly }: StoreContext, tables: TraceDeps, deliveries: DeliveryList): TraceStore {
  const noteAttempt = db.prepare(
    `UPDATE turns SET trace = ${appendAttempt('?1')} WHERE message = ?2 AND EXISTS (SELECT 1 FROM messages
       WHERE seq = ?2 AND kind = 'message' AND forgotten_at IS NULL)`,
  )
  const readTurn = createTurnReader(db, tables)
  const list = db.prepare<ChangeRow>(
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
