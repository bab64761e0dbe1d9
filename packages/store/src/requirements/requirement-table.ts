// Stores requirements and their decisions.
import type { ChannelName, RequirementKind } from '@postern/message'
import { isoTime, subjectOf } from '@postern/message'
import type {
  Intake,
  PlannedRequirement,
  RequirementDecision,
  RequirementObjection,
  RequirementRecord,
  RequirementStatus,
} from '@postern/pipeline'
import { createResolutionIntake, maxOpenRequirements } from '@postern/pipeline'
import type { ReadMessage } from '../messages/read-message.ts'
import type { AnswerPosition } from '../messages/responses.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { TaskCancel } from '../tasks/cancel-task.ts'
import type { ThreadTable } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RememberedTable } from './remembered-decisions.ts'
import { createRememberedTable } from './remembered-decisions.ts'
import { createWaitingTaskFinder } from './waiting-task.ts'

/** The time for which a requirement is stored after it has expired, ms, so that its decider can still learn that it has expired. */
const retentionMs = 30 * 86_400_000
/** The maximum number of old requirements that are deleted when new ones are issued. */
const maxDeleted = 50

interface RequirementDeps {
  readonly taskCancel: Pick<TaskCancel, 'cancel'>
}

/** The table of requirements of agents. The members are operations of a write. */
export interface RequirementTable {
  /**
   * Stores at least one requirement. If an older requirement expires by this, the task that waits for the older one is canceled, because nobody can
   * decide it any more.
   */
  issue(batch: Batch, requirements: readonly PlannedRequirement[], position: AnswerPosition): Operation<void>
  find(
    key: { readonly digest: string } | { readonly id: string },
    now: number,
  ): Operation<RequirementRecord | undefined>
  /** Lists requirements, the newest first. */
  list(
    filter: {
      readonly status: RequirementStatus | undefined
      readonly subject: string | undefined
      readonly after: number
      readonly limit: number
    },
    now: number,
  ): Operation<readonly RequirementRecord[]>
  /**
   * Finds the requirement that a message decides, or the objection to the decision. It changes nothing. `thread` is the thread that the message would
   * get.
   */
  findDecidedRequirement(
    intake: Intake,
    decision: RequirementDecision,
    position: { readonly thread: number | undefined; readonly now: number },
  ): Operation<RequirementRecord | RequirementObjection>
  /** Finds the objection to a decision, independent of the decider. Returns undefined if the decision counts. */
  findObjection(
    requirement: RequirementRecord,
    decision: RequirementDecision,
  ): Operation<RequirementObjection | undefined>
  resolve(requirement: RequirementRecord, decision: RequirementDecision, now: number): Operation<void>
  /** Marks a requirement as expired, so that nobody can decide it any more. */
  expire(requirement: RequirementRecord): void
  /** The table of decisions that also count for later calls. */
  readonly rememberedDecisions: RememberedTable
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

const statusSql = `CASE WHEN status = 'open' AND expires_at <= ?1 THEN 'expired' ELSE status END`
const columns = `position, id, digest, agent, channel, thread_id, message, kind, subject, address, policy, issued_at, expires_at,
  ${statusSql} AS status, resolved_at, resolver, receipt`

export function createRequirementTable(db: Sql, { taskCancel }: RequirementDeps): RequirementTable {
  const findByDigest = db.prepare<RequirementRow>(`SELECT ${columns} FROM requirements WHERE digest = ?2`)
  const findById = db.prepare<RequirementRow>(`SELECT ${columns} FROM requirements WHERE id = ?2`)
  const list = db.prepare<RequirementRow>(
    `SELECT ${columns} FROM requirements WHERE position < ?2 AND (${statusSql} = ?3 OR ?3 IS NULL)
     AND (subject = ?5 OR ?5 IS NULL) ORDER BY position DESC LIMIT +?4`,
  )
  const findReceipt = db.prepare('SELECT 1 FROM requirements WHERE receipt = ?')
  const findTask = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ? AND native_id = ?')
  const findMessageTask = db.prepare<{ task_id: number | null }>('SELECT task_id FROM messages WHERE seq = ?')
  const updateResolution = db.prepare(
    `UPDATE requirements SET status = ?, resolved_at = ?, resolver = ?, receipt = ? WHERE position = ? AND status = 'open'`,
  )
  const expire = db.prepare("UPDATE requirements SET status = 'expired' WHERE position = ? AND status = 'open'")
  const rememberedDecisions = createRememberedTable(db)

  /** Returns true if the message belongs to another existing task than the requirement. A message that opens a task may decide any requirement of its thread. */
  function* isOfOtherTask({ task }: Intake, { message }: RequirementRecord): Operation<boolean> {
    const taskRow = task && (yield* findTask.get(task.owner, task.id))
    return taskRow !== undefined && taskRow.id !== (yield* findMessageTask.get(message))?.task_id
  }

  const table: RequirementTable = {
    issue: createIssue(db, { taskCancel }),
    expire: ({ number: position }) => void expire.run(position),
    *find(key, now) {
      const row = 'digest' in key ? yield* findByDigest.get(now, key.digest) : yield* findById.get(now, key.id)
      return row && readRequirement(row)
    },
    *list({ status, subject, after, limit }, now) {
      return (yield* list.all(now, after, status ?? null, limit, subject ?? null)).map(readRequirement)
    },
    *findDecidedRequirement(intake, decision, { thread, now }) {
      const { agent, message } = intake
      const requirement = yield* table.find({ digest: decision.digest }, now)
      // A sender who was not asked must not learn that the requirement exists.
      if (!requirement || requirement.agent !== agent) return 'unknown'
      if (!message.sender.verified || requirement.subject !== subjectOf(message.sender)) return 'unknown'
      if (requirement.thread !== thread || (yield* isOfOtherTask(intake, requirement))) return 'elsewhere'
      return (yield* table.findObjection(requirement, decision)) ?? requirement
    },
    *findObjection({ status, kind }, decision) {
      if (status === 'expired') return 'expired'
      if (status !== 'open') return 'used'
      if (kind !== decision.kind) return 'kind'
      return decision.receipt && (yield* findReceipt.get(decision.receipt.key)) ? 'receipt_used' : undefined
    },
    *resolve(requirement, decision, now) {
      const { outcome, resolver, receipt } = decision
      const values = [outcome, now, formatJson(resolver), receipt?.key ?? null] as const
      const changes = yield* updateResolution.change(...values, requirement.number)
      if (changes !== 1) throw new Error(`requirement ${requirement.number} is not open`)
      yield* rememberedDecisions.remember(requirement, decision, now)
    },
    rememberedDecisions,
  }
  return table
}

/**
 * Prepares the issue of requirements. Beyond the limit, the oldest open requirements of the thread expire. Some requirements that expired long ago are
 * deleted.
 */
function createIssue(db: Sql, { taskCancel }: RequirementDeps): RequirementTable['issue'] {
  const insert = db.prepare(
    `INSERT INTO requirements (id, digest, agent, channel, thread_id, message, kind, subject, address, policy, issued_at, expires_at)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
       (SELECT json_extract(envelope, '$.sender.address') FROM messages WHERE seq = ?6), ?9, ?10, ?11
     WHERE NOT EXISTS (SELECT 1 FROM messages WHERE kind = 'response' AND answers = ?6 AND retracted_at IS NOT NULL)`,
  )
  const expireOldest = db.prepare<{ message: number }>(
    `UPDATE requirements SET status = 'expired' WHERE position IN (SELECT position FROM requirements INDEXED BY requirements_open
       WHERE thread_id = ? AND status = 'open' ORDER BY position DESC LIMIT -1 OFFSET ${maxOpenRequirements}) RETURNING message`,
  )
  const deleteOld = db.prepare(
    `DELETE FROM requirements WHERE position IN (SELECT position FROM requirements WHERE expires_at < ? ORDER BY expires_at LIMIT ${maxDeleted})`,
  )
  const findWaitingTask = createWaitingTaskFinder(db)
  return function* (batch, requirements, { agent, channel, thread, message, now }) {
    for (const { id, digest, kind, subject, policy, expiresAt } of requirements) {
      insert.run(id, digest, agent, channel, thread, message, kind, subject, formatJson(policy), now, expiresAt)
    }
    for (const expiredRequirement of yield* expireOldest.all(thread)) {
      const task = yield* findWaitingTask({ ...expiredRequirement, thread }, now)
      if (task !== undefined) yield* taskCancel.cancel(batch, task, now)
    }
    deleteOld.run(now - retentionMs)
  }
}

function readRequirement(row: RequirementRow): RequirementRecord {
  return {
    number: row.position,
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

/** Builds the message that represents a decision on a requirement. The data from which it is built never change. */
export type PlanResolution = (requirement: RequirementRecord, decision: RequirementDecision) => Operation<Intake>

export function createResolutionPlan(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: { readonly readMessage: ReadMessage; readonly threads: ThreadTable },
): PlanResolution {
  const findAuthor = db.prepare<{ principal: string | null }>('SELECT principal FROM messages WHERE seq = ?')
  return function* (requirement, decision) {
    const { content, target, task, thread, flags, via } = yield* tables.readMessage(requirement.message)
    const author = (yield* findAuthor.get(requirement.message))?.principal ?? undefined
    const { scope } = yield* tables.threads.scopeOf(thread)
    const origin = { content, target, scope, task, author, flags }
    const resolutionIntake = createResolutionIntake(requirement, decision, origin, isoTime(now()))
    const intake = decision.task ? { ...resolutionIntake, task: decision.task } : resolutionIntake
    if (via === content.received_via) return intake
    return {
      ...intake,
      thread: {
        ...intake.thread,
        scope: author ?? scope,
        joined: { id: thread, via, key: intake.message.thread_source },
      },
    }
  }
}
