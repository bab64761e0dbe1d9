import type {
  ChannelName,
  DemandDecision,
  DemandKind,
  DemandObjection,
  DemandRecord,
  DemandStatus,
  Intake,
  PlannedDemand,
} from '@postern/core'
import { maxOpenDemands, subjectOf } from '@postern/core'
import type { Database } from './database.ts'
import { formatJson, parseJson, prepareQuery } from './database.ts'
import type { RememberedTable } from './remembered-decisions.ts'
import { createRememberedTable } from './remembered-decisions.ts'
import type { SayingPlace } from './sayings.ts'

/** How long a demand is remembered beyond its time, ms: so long one can be told that it is over. */
const remembranceMs = 30 * 86_400_000
/** Demands that one new one may clear away. */
const mostForgotten = 50

/** The demands of agents. Synchronous: inside a write. */
export interface DemandTable {
  issue(demands: readonly PlannedDemand[], place: SayingPlace): void
  find(key: { readonly digest: string } | { readonly id: string }, now: number): DemandRecord | undefined
  /** Newest first. */
  list(
    filter: {
      readonly status: DemandStatus | undefined
      readonly subject: string | undefined
      readonly after: number
      readonly limit: number
    },
    now: number,
  ): readonly DemandRecord[]
  /** The demand a message decides, or why it does not; nothing is changed. `thread`: where the message would stand. */
  findDecided(
    intake: Intake,
    decision: DemandDecision,
    place: { readonly thread: number | undefined; readonly now: number },
  ): DemandRecord | DemandObjection
  /** Why a decision does not count, whoever brings it. */
  findObjection(demand: DemandRecord, decision: DemandDecision): DemandObjection | undefined
  use(demand: DemandRecord, decision: DemandDecision, now: number): void
  /** Nothing can follow from it any more. */
  expire(demand: DemandRecord): void
  /** What was decided for later calls, too. */
  readonly remembered: RememberedTable
}

interface DemandRow {
  readonly place: number
  readonly id: string
  readonly digest: string
  readonly agent: string
  readonly via: ChannelName
  readonly thread_id: number
  readonly message: number
  readonly kind: DemandKind
  readonly subject: string
  readonly address: string
  readonly policy: string
  readonly issued_at: number
  readonly expires_at: number
  readonly status: DemandStatus
  readonly resolved_at: number | null
  readonly resolver: string | null
  readonly receipt: string | null
}

const standing = `CASE WHEN status = 'open' AND expires_at <= ?1 THEN 'expired' ELSE status END`
const columns = `place, id, digest, agent, via, thread_id, message, kind, subject, address, policy, issued_at, expires_at,
  ${standing} AS status, resolved_at, resolver, receipt`

export function createDemandTable(db: Database): DemandTable {
  const findByDigest = prepareQuery<DemandRow>(db, `SELECT ${columns} FROM demands WHERE digest = ?2`)
  const findById = prepareQuery<DemandRow>(db, `SELECT ${columns} FROM demands WHERE id = ?2`)
  const list = prepareQuery<DemandRow>(
    db,
    `SELECT ${columns} FROM demands WHERE place < ?2 AND (${standing} = ?3 OR ?3 IS NULL)
     AND (subject = ?5 OR ?5 IS NULL) ORDER BY place DESC LIMIT +?4`,
  )
  const findReceipt = prepareQuery(db, 'SELECT 1 FROM demands WHERE receipt = ?')
  const findTask = prepareQuery<{ id: number }>(db, 'SELECT id FROM tasks WHERE owner = ? AND native_id = ?')
  const findTaskOf = prepareQuery<{ task_id: number | null }>(db, 'SELECT task_id FROM messages WHERE number = ?')
  const use = prepareQuery(
    db,
    `UPDATE demands SET status = ?, resolved_at = ?, resolver = ?, receipt = ? WHERE place = ? AND status = 'open'`,
  )

  const expire = prepareQuery(db, "UPDATE demands SET status = 'expired' WHERE place = ? AND status = 'open'")

  const remembered = createRememberedTable(db)

  /** A message of a task decides what was demanded there; one that opens a task, what was in its context. */
  function isOfOtherTask({ task }: Intake, { message }: DemandRecord): boolean {
    const named = task && findTask.get(task.owner, task.id)
    return named !== undefined && named.id !== findTaskOf.get(message)?.task_id
  }

  const table: DemandTable = {
    issue: createIssue(db),
    expire: ({ place }) => void expire.run(place),
    find(key, now) {
      const row = 'digest' in key ? findByDigest.get(now, key.digest) : findById.get(now, key.id)
      return row && readDemand(row)
    },
    list: ({ status, subject, after, limit }, now) =>
      list.all(now, after, status ?? null, limit, subject ?? null).map(readDemand),
    findDecided(intake, decision, { thread, now }) {
      const { agent, message } = intake
      const demand = table.find({ digest: decision.digest }, now)
      // Whose it is not, learns nothing of it.
      if (!demand || demand.agent !== agent) return 'unknown'
      if (!message.sender.verified || demand.subject !== subjectOf(message.sender)) return 'unknown'
      if (demand.thread !== thread || isOfOtherTask(intake, demand)) return 'elsewhere'
      return table.findObjection(demand, decision) ?? demand
    },
    findObjection({ status, kind }, decision) {
      if (status === 'expired') return 'expired'
      if (status !== 'open') return 'used'
      if (kind !== decision.kind) return 'kind'
      return decision.receipt && findReceipt.get(decision.receipt.key) ? 'receipt_used' : undefined
    },
    use(demand, decision, now) {
      const { outcome, resolver, receipt } = decision
      const { changes } = use.run(outcome, now, formatJson(resolver), receipt?.key ?? null, demand.place)
      if (changes !== 1) throw new Error(`demand ${demand.place} is not open`)
      remembered.keep(demand, decision, now)
    },
    remembered,
  }
  return table
}

/** New demands push old ones out: of one thread the oldest that are open, of all those that are long over. */
function createIssue(db: Database): DemandTable['issue'] {
  const insert = prepareQuery(
    db,
    `INSERT INTO demands (id, digest, agent, via, thread_id, message, kind, subject, address, policy, issued_at, expires_at)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
       (SELECT json_extract(envelope, '$.sender.address') FROM messages WHERE number = ?6), ?9, ?10, ?11
     WHERE NOT EXISTS (SELECT 1 FROM responses WHERE message = ?6 AND retracted_at IS NOT NULL)`,
  )
  const expireOldest = prepareQuery(
    db,
    `UPDATE demands SET status = 'expired' WHERE place IN (SELECT place FROM demands INDEXED BY demands_open
       WHERE thread_id = ? AND status = 'open' ORDER BY place DESC LIMIT -1 OFFSET ${maxOpenDemands})`,
  )
  const forget = prepareQuery(
    db,
    `DELETE FROM demands WHERE place IN (SELECT place FROM demands WHERE expires_at < ? ORDER BY expires_at LIMIT ${mostForgotten})`,
  )
  return (demands, { agent, via, thread, message, now }) => {
    for (const { id, digest, kind, subject, policy, expiresAt } of demands) {
      insert.run(id, digest, agent, via, thread, message, kind, subject, formatJson(policy), now, expiresAt)
    }
    if (demands.length === 0) return
    expireOldest.run(thread)
    forget.run(now - remembranceMs)
  }
}

function readDemand(row: DemandRow): DemandRecord {
  return {
    place: row.place,
    id: row.id,
    digest: row.digest,
    agent: row.agent,
    via: row.via,
    thread: row.thread_id,
    message: row.message,
    kind: row.kind,
    subject: row.subject,
    address: row.address,
    policy: parseJson(row.policy),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    status: row.status,
    ...(row.resolved_at !== null && { resolvedAt: row.resolved_at }),
    ...(row.resolver !== null && { resolver: parseJson(row.resolver) }),
    ...(row.receipt !== null && { receipt: row.receipt }),
  }
}
