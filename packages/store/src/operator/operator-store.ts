// Assembles the queries and actions of operators.
import type { ChannelName, EntryChange } from '@postern/message'
import { callerGroupPrefix, mailGroup, stopFlags } from '@postern/message'
import type {
  DeliveryRecord,
  MessageState,
  OperatorStore,
  RefusalCode,
  StoreCounts,
  TraceStore,
} from '@postern/pipeline'
import type { ReadMessage } from '../messages/read-message.ts'
import type { ProofKeyTable } from '../peers/proof-keys.ts'
import { createTurnReader } from '../queue/turns/read-turn.ts'
import { appendAttemptSql, formatAttempt } from '../queue/turns/turn-attempts.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { TotalName } from '../transaction/totals.ts'
import { createConversationList } from './conversation-list.ts'
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
    ...createStatistics(context.db),
    ...createConversationList(context.db),
    findListWindow: createWindowFinder(context.db),
    listDeliveries: deliveryList.listDeliveries,
    listRefusals: refusals.listRefusals,
    async count() {
      await refusals.flush()
      const totals = await context.db.read(readTotals)
      return toCounts(totals, refusals.countPending())
    },
  }
}

type Totals = ReadonlyMap<TotalName, number>

function createTotalsReader(db: Sql): () => Operation<Totals> {
  const readAll = db.prepare<{ name: TotalName; value: number }>(
    'SELECT name, sum(value) AS value FROM counters GROUP BY name',
  )
  return function* () {
    return new Map((yield* readAll.all()).map(({ name, value }) => [name, value]))
  }
}

const messageStates: readonly MessageState[] = ['received', 'working', 'answered', 'failed', 'ignored']
const deliveryStates: readonly DeliveryRecord['state'][] = ['queued', 'sent', 'later', 'dead', 'dismissed']

function toCounts(totals: Totals, pendingRefusals: number): StoreCounts {
  const selectTotals = <State extends string>(kind: 'messages' | 'deliveries' | 'stopped', states: readonly State[]) =>
    Object.fromEntries(states.map(state => [state, totals.get(`${kind}.${state}` as TotalName) ?? 0]))
  return {
    messages: selectTotals('messages', messageStates) as StoreCounts['messages'],
    deliveries: selectTotals('deliveries', deliveryStates) as StoreCounts['deliveries'],
    stopped: selectTotals('stopped', stopFlags) as StoreCounts['stopped'],
    refusals: (totals.get('refusals') ?? 0) + pendingRefusals,
    refused: listRefusalCounts(totals),
  }
}

/** Lists the number of refusals by channel and code. Their totals are named `refusals.<channel>.<code>`. */
function listRefusalCounts(totals: Totals): StoreCounts['refused'] {
  return [...totals].flatMap(([name, count]) => {
    const [, via, code] = /^refusals\.(.+)\.(\w+)$/.exec(name) ?? []
    return via && code ? [{ via: via as ChannelName, code: code as RefusalCode, count }] : []
  })
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

/** The SQL of the part of a URL that begins with the host and its port. */
const afterScheme = "substr(d.destination, instr(d.destination, '//') + 2) || '/'"
const hostOfUrl = `lower(substr(${afterScheme}, 1, instr(${afterScheme}, '/') - 1))`

/** Joins the rows whose hosts differ only in the port. */
function joinPorts(rows: readonly HostRow[]): readonly HostRow[] {
  const hostsByName = new Map<string, HostRow>()
  for (const row of rows) {
    const host = row.host.replace(/:\d{1,5}$/, '')
    const joinedRow = hostsByName.get(host)
    const times = [joinedRow?.next_at, row.next_at].filter(at => at !== null && at !== undefined)
    hostsByName.set(host, {
      host,
      deliveries: row.deliveries + (joinedRow?.deliveries ?? 0),
      failing: row.failing + (joinedRow?.failing ?? 0),
      oldest_at: Math.min(row.oldest_at, joinedRow?.oldest_at ?? row.oldest_at),
      next_at: times.length > 0 ? Math.min(...times) : null,
    })
  }
  return [...hostsByName.values()]
}

/** Creates the statistics of waiting deliveries by host, and of the times until messages are answered. */
function createStatistics(db: Sql): Pick<OperatorStore, 'listWaitingHosts' | 'listTimings'> {
  // For a delivery to a mailbox or to an account name, the domain counts as the host.
  const listHosts = db.prepare<HostRow>(
    `SELECT coalesce(CASE WHEN d.host LIKE '${callerGroupPrefix}%' THEN ${hostOfUrl} ELSE nullif(d.host, '${mailGroup}') END, lower(substr(ltrim(d.destination, '@'), instr(ltrim(d.destination, '@'), '@') + 1))) AS host, count(*) AS deliveries,
       count(CASE WHEN d.state = 'later' THEN 1 END) AS failing, min(d.queued_at) AS oldest_at,
       min(CASE WHEN d.lease_owner IS NULL THEN d.due_at END) AS next_at
     FROM deliveries d INDEXED BY deliveries_open WHERE d.ended_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT +?`,
  )
  // Row numbers rise with time, so the query starts after the newest message that is too old.
  const listNewest = db.prepare<TimingRow>(
    `SELECT m.channel, m.at, t.ended_at FROM messages m LEFT JOIN turns t ON t.message = m.seq
     WHERE m.kind = 'message' AND m.seq >= ? AND m.at >= ? ORDER BY m.seq DESC LIMIT +?`,
  )
  const findNewest = db.prepare<{ readonly seq: number | null }>('SELECT max(seq) AS seq FROM messages')
  const findEarlier = db.prepare<{ readonly seq: number }>(
    "SELECT seq FROM messages WHERE kind = 'message' AND seq >= ? AND at < ? ORDER BY seq DESC LIMIT 1",
  )
  return {
    listWaitingHosts: limit =>
      db.read(function* () {
        return joinPorts(yield* listHosts.all(limit)).map(({ host, deliveries, failing, oldest_at, next_at }) => ({
          ...{ host, deliveries, failing, oldestAt: oldest_at },
          ...(next_at !== null && { nextAt: next_at }),
        }))
      }),
    listTimings({ since, limit }) {
      return db.read(function* () {
        // The table also has rows for answers and notes.
        const floor = ((yield* findNewest.get())?.seq ?? 0) - limit * rowsPerMessage
        const earlierSeq = (yield* findEarlier.get(floor, since))?.seq
        const newestRows = yield* listNewest.all(earlierSeq ?? floor, since, limit)
        const timings = newestRows.map(({ channel, at, ended_at }) => {
          const receivedAt = Date.parse(at)
          return { channel, at: receivedAt, ...(ended_at !== null && { tookMs: Math.max(0, ended_at - receivedAt) }) }
        })
        return { timings, isWhole: timings.length < limit && (earlierSeq !== undefined || floor <= 0) }
      })
    },
  }
}

/** The maximum number of rows that a list of messages reads for each message. */
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

/** Creates the queries for everything to which the record of a message refers, and the function that records an attempt. */
function createTraceStore({ db, writeLightly }: StoreContext, tables: TraceDeps, deliveries: DeliveryList): TraceStore {
  const insertAttempt = db.prepare(
    `UPDATE turns SET trace = ${appendAttemptSql('?1')} WHERE message = ?2 AND EXISTS (SELECT 1 FROM messages
       WHERE seq = ?2 AND kind = 'message' AND forgotten_at IS NULL)`,
  )
  const readTurn = createTurnReader(db, tables)
  const list = db.prepare<ChangeRow>(
    `SELECT seq, forgotten_at, retracted_at, edited_at, scope = 'forgotten' AS is_forgotten FROM messages
     WHERE seq IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
  )
  return {
    findDelivery: deliveries.findDelivery,
    findProofKey: digest => db.read(() => tables.proofKeys.find(digest)),
    readTurn: message => db.read(() => readTurn(message)),
    async noteAttempt({ message }, attempt) {
      await writeLightly(() => void insertAttempt.run(formatAttempt(attempt), message), {
        conflictKeys: () => [`turn ${message}`],
      })
    },
    listChanges(seqs) {
      return db.read(function* () {
        const rows = new Map((yield* list.all(formatJson(seqs))).map(row => [row.seq, row]))
        return seqs.flatMap(seq => findChange(seq, rows.get(seq)) ?? [])
      })
    },
  }
}

/** Finds the last change of an entry. A deletion takes precedence over an edit. */
function findChange(seq: number, row: ChangeRow | undefined): EntryChange | undefined {
  if (!row) return { seq, how: 'forgotten' }
  const { forgotten_at, retracted_at, edited_at, is_forgotten } = row
  if (forgotten_at !== null) return { seq, how: 'forgotten', at: forgotten_at }
  if (retracted_at !== null) return { seq, how: 'retracted', at: retracted_at }
  if (is_forgotten) return { seq, how: 'forgotten' }
  return edited_at === null ? undefined : { seq, how: 'edited', at: edited_at }
}
