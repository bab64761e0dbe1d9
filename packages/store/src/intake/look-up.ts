import { hash } from 'node:crypto'
import type { ChannelName, Intake, LoopMemory, Part, TaskIntake, TaskKey, TurnBudget, TurnQuota } from '@postern/core'
import { agentFlag, findLoop, isoTime, loopFlag, loopMemoryMs, plainTextOf, stopFlags } from '@postern/core'
import { formatBoundedParts } from '../conversations/entries.ts'
import type { PlacedThread, ThreadTable } from '../conversations/threads.ts'
import { viaOf } from '../conversations/threads.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addToTotal, parseJson, readTogether, rowLocksOf } from '../engine/database.ts'
import type { MessageDraft } from '../messages/table.ts'
import { readTaskKey } from '../messages/table.ts'
import type { ProofKeyTable, RelationTable, WithdrawalTable } from '../peers/senders.ts'
import type { FoundTask, TaskTable } from '../tasks/table.ts'

interface LookUpDeps {
  readonly threads: Pick<ThreadTable, 'find'>
  readonly tasks: Pick<TaskTable, 'find'>
  readonly withdrawals: Pick<WithdrawalTable, 'has'>
  readonly relations: Pick<RelationTable, 'has'>
  readonly proofKeys: Pick<ProofKeyTable, 'findUse'>
}

/** What is stored of a message that is not. */
export interface Found {
  /** Why it gets no answer, whatever the channel wanted. */
  readonly objection: 'deleted' | 'blocked_by' | undefined
  readonly thread: number | undefined
  /** Where it asks for an answer as part of a task. */
  readonly task: FoundTask | undefined
  /** When each of the draft's keys was used last. */
  readonly keyUses: readonly (number | undefined)[]
}

/** Asks what almost every message needs, in one way to a database that is far. Within a write, before it changes anything. */
export function createLookUp(db: Sql, tables: LookUpDeps, now: () => number): (draft: MessageDraft) => Found {
  function isTakenBack({ message: { received_via: via }, authorship }: Intake): boolean {
    return authorship !== undefined && tables.withdrawals.has(via, authorship, now())
  }

  /** Its author does not want to hear from the agent. */
  function isBlockedBy({ agent, message: { received_via: via }, authorship, disposition }: Intake): boolean {
    if (!authorship || disposition === 'keep') return false
    return tables.relations.has({ agent, via, relation: 'blocked_by', peer: authorship.author })
  }

  const findTask = (task: TaskIntake | undefined) => (task ? tables.tasks.find(task) : undefined)

  return function lookUp({ intake, proofKeys }) {
    const findUses = proofKeys.map(key => () => tables.proofKeys.findUse(key))
    const [wasTakenBack, wasBlocked, thread, task, keyUses] = readTogether(db, [
      () => isTakenBack(intake),
      () => isBlockedBy(intake),
      () => tables.threads.find(intake),
      () => findTask(intake.disposition === 'answer' ? intake.task : undefined),
      () => readTogether(db, findUses),
    ])
    const objection = wasTakenBack ? 'deleted' : wasBlocked ? 'blocked_by' : undefined
    return { objection, thread, task, keyUses }
  }
}

/** Whose words, and of what, for one agent. */
export function digestWords({ agent, authorship, message: { received_via: via } }: Intake): string | undefined {
  if (!authorship) return undefined
  return hash('sha256', JSON.stringify([agent, via, authorship.author, authorship.object]), 'base64')
}

interface First {
  readonly number: number
  readonly fingerprint: string | null
  readonly task: TaskKey | undefined
}

export function createFirstFinder(db: Sql): (intake: Intake) => First | undefined {
  const find = db.prepare<Omit<First, 'task'> & { owner: string | null; native_id: string | null }>(
    `SELECT m.seq AS number, m.fingerprint, k.owner, k.native_id FROM messages m LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.duplicate_key = ? AND m.agent = ? AND m.channel IN (?)`,
  )
  return intake => {
    const row = find.get(intake.duplicateKey, intake.agent, viaOf(intake))
    return row && { number: row.number, fingerprint: row.fingerprint, task: readTaskKey(row) }
  }
}

interface ExcessDeps {
  readonly budgets: BudgetTable
  readonly quotas: QuotaTable
}

/** Finds the flag of the quota or budget that a message exceeds; otherwise takes all of them. */
export function createExcessFinder(db: Sql, { budgets: counted, quotas }: ExcessDeps) {
  const goesRound = createLoopFinder(db)
  return (intake: Intake, { thread, key }: PlacedThread, now: number): string | undefined => {
    const { quota, budgets = [], message, task, authorship } = intake
    if (task) return undefined
    const begins = key !== undefined
    const place = { via: message.received_via, thread, begins, now }
    const exceeded = counted.findExceeded(budgets, place)
    if (exceeded) return exceeded.flag
    if (goesRound(intake, { thread, begins }, now)) return loopFlag
    if (
      quota !== undefined &&
      !quotas.take({ thread, begins, author: authorship?.author ?? message.sender.address }, quota, now)
    )
      return loopFlag
    counted.take(budgets, place)
    return undefined
  }
}

/** Where a budget is asked for. `begins`: the thread is new. */
interface BudgetPlace {
  readonly via: ChannelName
  readonly thread: number
  readonly begins: boolean
  readonly now: number
}

export interface BudgetTable {
  /** The first that has no room for one more; nothing is taken. */
  findExceeded(budgets: readonly TurnBudget[], place: BudgetPlace): TurnBudget | undefined
  /** Takes one of each. A new time begins when the old one is over. */
  take(budgets: readonly TurnBudget[], place: BudgetPlace): void
}

export function createBudgetTable(db: Sql): BudgetTable {
  const find = db.prepare<{ used: number }>('SELECT used FROM turn_budgets WHERE key = ? AND expires_at > ?')
  const take = db.prepare(
    `INSERT INTO turn_budgets (key, expires_at, used) VALUES (?1, ?2, 1) ON CONFLICT (key) DO UPDATE SET
       used = CASE WHEN turn_budgets.expires_at <= ?3 THEN 1 ELSE turn_budgets.used + 1 END,
       expires_at = CASE WHEN turn_budgets.expires_at <= ?3 THEN ?2 ELSE turn_budgets.expires_at END`,
  )
  // Each one that is taken takes two out whose time is over: strangers fill this table, and it shrinks again.
  const removeOld = db.prepare(
    `DELETE FROM turn_budgets WHERE key IN
       (SELECT key FROM turn_budgets INDEXED BY turn_budgets_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT 2 ${rowLocksOf(db).skipLocked})`,
  )
  return {
    findExceeded(budgets, place) {
      const findUsed = (budget: TurnBudget) => find.get(keyOf(budget, place), place.now)?.used ?? 0
      const isUnused = ({ isPerThread }: TurnBudget) => isPerThread === true && place.begins
      const used = readTogether(
        db,
        budgets.map(budget => () => (isUnused(budget) ? 0 : findUsed(budget))),
      )
      return budgets.find((budget, at) => (used[at] ?? 0) >= budget.turns)
    },
    take(budgets, place) {
      for (const budget of budgets) take.run(keyOf(budget, place), place.now + budget.withinMs, place.now)
      if (budgets.length > 0) removeOld.run(place.now)
    },
  }
}

function keyOf({ key, isPerThread }: TurnBudget, { via, thread }: BudgetPlace): string {
  return isPerThread ? `${via} #${thread} ${key}` : `${via} ${key}`
}

/** `begins`: nobody has answered in the thread yet. */
interface QuotaPlace {
  readonly thread: number
  readonly author: string
  readonly begins: boolean
}

export interface QuotaTable {
  /**
   * Takes one turn of the thread's quota; false when it is used up. A new time begins when the old one is over. A quota for
   * the swift is each author's own, and nothing of it is taken by who is not.
   */
  take(place: QuotaPlace, quota: TurnQuota, now: number): boolean
}

export function createQuotaTable(db: Sql): QuotaTable {
  const take = db.prepare(
    `INSERT INTO turn_quotas (thread_id, author, began_at, used) VALUES (?1, ?5, ?2, 1) ON CONFLICT (thread_id, author) DO UPDATE SET
       used = CASE WHEN turn_quotas.began_at <= ?3 THEN 1 ELSE turn_quotas.used + 1 END,
       began_at = CASE WHEN turn_quotas.began_at <= ?3 THEN ?2 ELSE turn_quotas.began_at END
     WHERE turn_quotas.began_at <= ?3 OR turn_quotas.used < ?4`,
  )
  const findLastAnswer = createLastAnswerFinder(db)
  const isSwift = (thread: number, swiftMs: number, now: number) =>
    now - (findLastAnswer(thread) ?? -Infinity) <= swiftMs
  return {
    take({ thread, author, begins }, { turns, withinMs, swiftMs }, now) {
      const isForSwift = swiftMs !== undefined
      if (isForSwift && (begins || !isSwift(thread, swiftMs, now))) return true
      return turns > 0 && take.run(thread, now, now - withinMs, turns, isForSwift ? author : '').changes > 0
    },
  }
}

/** When our last answer in a thread was committed; looked for among the newest entries, so that a long backlog costs nothing. */
function createLastAnswerFinder(db: Sql): (thread: number) => number | undefined {
  const find = db.prepare<{ at: number | null }>(
    `SELECT max(ended_at) AS at FROM turns WHERE message IN (SELECT answers FROM messages
       WHERE thread_id = ? AND scope = 'conversation' ORDER BY coalesce(answers, seq) DESC LIMIT 8)`,
  )
  return thread => find.get(thread)?.at ?? undefined
}

/** Larger messages say nothing to a guard: what goes round in a circle is short. */
const maxComparedBytes = 64 * 1024

interface Said {
  /** ISO 8601 UTC. */
  readonly at: string
}

/** `begins`: nothing has been said in the thread yet. */
interface LoopPlace {
  readonly thread: number
  readonly begins: boolean
}

const nothingSaid: LoopMemory = { readSenders: () => [], readTexts: () => [] }

/** Whether one more turn of this thread would go round in a circle; read from the newest ends of one index. */
function createLoopFinder(db: Sql): (intake: Intake, place: LoopPlace, now: number) => boolean {
  // What came without a message (a conversation that began elsewhere) was said by somebody else.
  const said = `FROM messages WHERE thread_id = ? AND scope = 'conversation' AND kind IN ('message', 'context')
    ORDER BY coalesce(answers, seq) DESC LIMIT +?`
  const readSenders = db.prepare<Said & { from_agent: 0 | 1 }>(
    `SELECT at, CASE WHEN flags LIKE '%"${agentFlag}"%' THEN 1 ELSE 0 END AS from_agent ${said}`,
  )
  const readTexts = db.prepare<Said & { content: string }>(
    `SELECT at, ${formatBoundedParts('content', maxComparedBytes)} ${said}`,
  )
  return function goesRound({ loop, message, flags = [] }, { thread, begins }, now) {
    if (!loop) return false
    // Asked for in the statement, it would look for more of them through all of a thread that slept.
    const since = isoTime(now - loopMemoryMs)
    const isRecent = ({ at }: Said) => at >= since
    const memory: LoopMemory = {
      readSenders: most =>
        readSenders
          .all(thread, most)
          .filter(isRecent)
          .map(row => row.from_agent === 1),
      readTexts: most =>
        readTexts
          .all(thread, most)
          .filter(isRecent)
          .map(row => plainTextOf(parseJson<readonly Part[]>(row.content))),
    }
    const incoming = { isFromAgent: flags.includes(agentFlag), text: plainTextOf(message.parts) }
    return findLoop(incoming, begins ? nothingSaid : memory, loop) !== undefined
  }
}

/** What was stopped is counted, whoever stopped it: the endpoint or the store. */
export function countStopped(batch: Batch, flags: readonly (string | undefined)[]): void {
  for (const flag of stopFlags) if (flags.includes(flag)) addToTotal(batch, `stopped.${flag}`)
}
