import type {
  ChannelName,
  Intake,
  PlannedRequirement,
  RequirementDecision,
  RequirementKind,
  RequirementObjection,
  RequirementRecord,
  RequirementStatus,
} from '@postern/core'
import { createResolutionIntake, isoTime, maxOpenRequirements, subjectOf } from '@postern/core'
import type { ThreadTable } from '../conversations/threads.ts'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { PartialAnswerPosition } from '../messages/responses.ts'
import type { ReadMessage } from '../messages/table.ts'
import type { RememberedTable } from './remembered-decisions.ts'
import { createRememberedTable } from './remembered-decisions.ts'

/** How long a requirement is remembered beyond its time, ms: so long one can be told that it is over. */
const remembranceMs = 30 * 86_400_000
/** Requirements that one new one may clear away. */
const mostForgotten = 50

/** The requirements of agents. Synchronous: inside a write. */
export interface RequirementTable {
  /** One at least. */
  issue(requirements: readonly PlannedRequirement[], place: PartialAnswerPosition): void
  find(key: { readonly digest: string } | { readonly id: string }, now: number): RequirementRecord | undefined
  /** Newest first. */
  list(
    filter: {
      readonly status: RequirementStatus | undefined
      readonly subject: string | undefined
      readonly after: number
      readonly limit: number
    },
    now: number,
  ): readonly RequirementRecord[]
  /** The requirement a message decides, or why it does not; nothing is changed. `thread`: where the message would stand. */
  findDecided(
    intake: Intake,
    decision: RequirementDecision,
    place: { readonly thread: number | undefined; readonly now: number },
  ): RequirementRecord | RequirementObjection
  /** Why a decision does not count, whoever brings it. */
  findObjection(requirement: RequirementRecord, decision: RequirementDecision): RequirementObjection | undefined
  use(requirement: RequirementRecord, decision: RequirementDecision, now: number): void
  /** Nothing can follow from it any more. */
  expire(requirement: RequirementRecord): void
  /** What was decided for later calls, too. */
  readonly remembered: RememberedTable
}

interface RequirementRow {
  readonly position: number
  readonly id: string
  readonly digest: string
  readonly agent: string
  readonly channel: ChannelName
  readonly thread_id: number
  readonly message: number
  readonly kind: RequirementKind
  readonly subject: string
  readonly address: string
  readonly policy: string
  readonly issued_at: number
  readonly expires_at: number
  readonly status: RequirementStatus
  readonly resolved_at: number | null
  readonly resolver: string | null
  readonly receipt: string | null
}

const standing = `CASE WHEN status = 'open' AND expires_at <= ?1 THEN 'expired' ELSE status END`
const columns = `position, id, digest, agent, channel, thread_id, message, kind, subject, address, policy, issued_at, expires_at,
  ${standing} AS status, resolved_at, resolver, receipt`

export function createRequirementTable(db: Sql): RequirementTable {
  const findByDigest = db.prepare<RequirementRow>(`SELECT ${columns} FROM requirements WHERE digest = ?2`)
  const findById = db.prepare<RequirementRow>(`SELECT ${columns} FROM requirements WHERE id = ?2`)
  const list = db.prepare<RequirementRow>(
    `SELECT ${columns} FROM requirements WHERE position < ?2 AND (${standing} = ?3 OR ?3 IS NULL)
     AND (subject = ?5 OR ?5 IS NULL) ORDER BY position DESC LIMIT +?4`,
  )
  const findReceipt = db.prepare('SELECT 1 FROM requirements WHERE receipt = ?')
  const findTask = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ? AND native_id = ?')
  const findTaskOf = db.prepare<{ task_id: number | null }>('SELECT task_id FROM messages WHERE seq = ?')
  const use = db.prepare(
    `UPDATE requirements SET status = ?, resolved_at = ?, resolver = ?, receipt = ? WHERE position = ? AND status = 'open'`,
  )

  const expire = db.prepare("UPDATE requirements SET status = 'expired' WHERE position = ? AND status = 'open'")

  const remembered = createRememberedTable(db)

  /** A message of a task decides what was required there; one that opens a task, what was in its context. */
  function isOfOtherTask({ task }: Intake, { message }: RequirementRecord): boolean {
    const named = task && findTask.get(task.owner, task.id)
    return named !== undefined && named.id !== findTaskOf.get(message)?.task_id
  }

  const table: RequirementTable = {
    issue: createIssue(db),
    expire: ({ place }) => void expire.run(place),
    find(key, now) {
      const row = 'digest' in key ? findByDigest.get(now, key.digest) : findById.get(now, key.id)
      return row && readRequirement(row)
    },
    list: ({ status, subject, after, limit }, now) =>
      list.all(now, after, status ?? null, limit, subject ?? null).map(readRequirement),
    findDecided(intake, decision, { thread, now }) {
      const { agent, message } = intake
      const requirement = table.find({ digest: decision.digest }, now)
      // Whose it is not, learns nothing of it.
      if (!requirement || requirement.agent !== agent) return 'unknown'
      if (!message.sender.verified || requirement.subject !== subjectOf(message.sender)) return 'unknown'
      if (requirement.thread !== thread || isOfOtherTask(intake, requirement)) return 'elsewhere'
      return table.findObjection(requirement, decision) ?? requirement
    },
    findObjection({ status, kind }, decision) {
      if (status === 'expired') return 'expired'
      if (status !== 'open') return 'used'
      if (kind !== decision.kind) return 'kind'
      return decision.receipt && findReceipt.get(decision.receipt.key) ? 'receipt_used' : undefined
    },
    use(requirement, decision, now) {
      const { outcome, resolver, receipt } = decision
      const { changes } = use.run(outcome, now, formatJson(resolver), receipt?.key ?? null, requirement.place)
      if (changes !== 1) throw new Error(`requirement ${requirement.place} is not open`)
      remembered.keep(requirement, decision, now)
    },
    remembered,
  }
  return table
}

/** New requirements push old ones out: of one thread the oldest that are open, of all those that are long over. */
function createIssue(db: Sql): RequirementTable['issue'] {
  const insert = db.prepare(
    `INSERT INTO requirements (id, digest, agent, channel, thread_id, message, kind, subject, address, policy, issued_at, expires_at)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
       (SELECT json_extract(envelope, '$.sender.address') FROM messages WHERE seq = ?6), ?9, ?10, ?11
     WHERE NOT EXISTS (SELECT 1 FROM messages WHERE kind = 'response' AND answers = ?6 AND retracted_at IS NOT NULL)`,
  )
  const expireOldest = db.prepare(
    `UPDATE requirements SET status = 'expired' WHERE position IN (SELECT position FROM requirements INDEXED BY requirements_open
       WHERE thread_id = ? AND status = 'open' ORDER BY position DESC LIMIT -1 OFFSET ${maxOpenRequirements})`,
  )
  const forget = db.prepare(
    `DELETE FROM requirements WHERE position IN (SELECT position FROM requirements WHERE expires_at < ? ORDER BY expires_at LIMIT ${mostForgotten})`,
  )
  return (requirements, { agent, channel, thread, message, now }) => {
    for (const { id, digest, kind, subject, policy, expiresAt } of requirements) {
      insert.run(id, digest, agent, channel, thread, message, kind, subject, formatJson(policy), now, expiresAt)
    }
    expireOldest.run(thread)
    forget.run(now - remembranceMs)
  }
}

function readRequirement(row: RequirementRow): RequirementRecord {
  return {
    place: row.position,
    id: row.id,
    digest: row.digest,
    agent: row.agent,
    via: row.channel,
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

/** The message that a decision on a requirement stands for; nothing of what it is made of ever changes. */
export type PlanResolution = (requirement: RequirementRecord, decision: RequirementDecision) => Intake

export function createResolutionPlan(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: { readonly readMessage: ReadMessage; readonly threads: ThreadTable },
): PlanResolution {
  const findAuthor = db.prepare<{ principal: string | null }>('SELECT principal FROM messages WHERE seq = ?')
  return (requirement, decision) => {
    const { content, target, task, thread, flags, via } = tables.readMessage(requirement.message)
    const author = findAuthor.get(requirement.message)?.principal ?? undefined
    const { scope } = tables.threads.scopeOf(thread)
    const origin = { content, target, scope, task, author, flags }
    const resolved = createResolutionIntake(requirement, decision, origin, isoTime(now()))
    const intake = decision.task ? { ...resolved, task: decision.task } : resolved
    if (via === content.received_via) return intake
    return {
      ...intake,
      thread: { ...intake.thread, scope: author ?? scope, joined: { id: thread, via, key: content.thread_id } },
    }
  }
}
