// Stores tasks, and builds their records.
import type { NormalizedResponse, Part } from '@postern/message'
import type { Entry, SettledTask, TaskIntake, TaskRecord, TaskState, TaskStore } from '@postern/pipeline'
import type { ResponseRow } from '../messages/responses.ts'
import { readResponse, responseColumns, selectResponse } from '../messages/responses.ts'
import { parseJson } from '../sql/json-columns.ts'
import { defineLazyMembers } from '../sql/lazy-members.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryRow } from '../threads/entries.ts'
import { entryColumns, readEntry } from '../threads/entries.ts'
import type { Batch } from '../transaction/batch.ts'
import { maxOperations } from '../transaction/bounds.ts'
import { zeroTaskTotalDeletion } from '../transaction/task-totals.ts'
import { addTask, addTaskBytes } from '../transaction/totals.ts'

export interface TaskTable {
  find(task: TaskIntake): Operation<ExistingTask>
  /**
   * Adds a message to a task, or opens the task for it. Returns the row number of the task or a refusal. The refusals are `ended`, `full` if the owner
   * may not have another open task, and `taken` if the task must be new but exists already.
   */
  continueTask(batch: Batch, task: TaskIntake, change: ContinuedTask): Operation<number | 'ended' | 'full' | 'taken'>
  setWorking(task: number, now: number): void
  /** Deletes the row of a task whose messages are deleted already. */
  remove(task: number): Operation<void>
  /** Ends a task unless another turn of the task is open. @returns a function that reads the task after the transaction */
  finish(task: number, state: TaskState, responseSeq: number | undefined, now: number): () => TaskRow | undefined
}

interface TaskChange {
  readonly agent: string
  readonly now: number
  /** The state of the task after the message, which is `working` if its turn begins at once. */
  readonly state: 'submitted' | 'working'
}

interface ContinuedTask extends TaskChange {
  readonly existingTask: ExistingTask
}

const openStates: readonly TaskState[] = ['submitted', 'working', 'input_required', 'auth_required']

/**
 * Above this remaining capacity of an owner, no check is needed, because all gateways together never open that many tasks of the owner at the same
 * time.
 */
const uncheckedCapacity = 256 * maxOperations

export function createTaskTable(db: Sql): TaskTable {
  const find = createTaskFinder(db)
  const open = createTaskOpener(db)
  // A working task stays in this state, because its next message waits for the running turn.
  const updateExisting = db.prepare(
    "UPDATE tasks SET state = CASE WHEN state = 'working' THEN state ELSE ? END, updated_at = ? WHERE id = ?",
  )
  const setWorking = db.prepare(
    `UPDATE tasks SET state = 'working', updated_at = ? WHERE ${formatFreeTaskCondition(db)}`,
  )
  const remove = db.prepare<{ owner: string }>('DELETE FROM tasks WHERE id = ? RETURNING owner')
  const decrementTaskTotal = db.prepare(
    `INSERT INTO task_bytes (owner, bytes, tasks) VALUES (?, 0, -1)
     ON CONFLICT (owner, shard) DO UPDATE SET tasks = task_bytes.tasks + excluded.tasks`,
  )
  const deleteZeroTotal = db.prepare(zeroTaskTotalDeletion)
  const finish =
    db.prepareReturning<TaskRow>(`UPDATE tasks SET updated_at = ?2, response_seq = coalesce(?3, response_seq), state = CASE
       WHEN EXISTS (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL AND lease_owner IS NOT NULL) THEN 'working'
       WHEN EXISTS (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL) THEN 'submitted' ELSE ?4 END
     WHERE id = ?1 RETURNING ${taskColumns}`)
  return {
    find,
    *continueTask(batch, task, { existingTask, agent, now, state }) {
      if ('capacity' in existingTask) return yield* open(batch, task, { ...existingTask, agent, now, state })
      if (task.isNew) return 'taken'
      if (!openStates.includes(existingTask.state) && !(task.reopens && existingTask.state !== 'canceled'))
        return 'ended'
      updateExisting.run(state, now, existingTask.id)
      return existingTask.id
    },
    *remove(task) {
      const removedTask = yield* remove.get(task)
      if (!removedTask) return
      decrementTaskTotal.run(removedTask.owner)
      deleteZeroTotal.run(removedTask.owner)
    },
    setWorking: (task, now) => void setWorking.run(now, task),
    finish: (task, state, responseSeq, now) => finish(task, now, responseSeq ?? null, state),
  }
}

/**
 * Returns the condition that a task has this id and is not locked. A lease changes many tasks without reserving their names, so it skips a task that
 * another message is continuing. That message sets the task back to `submitted`.
 */
function formatFreeTaskCondition(db: Sql): string {
  const { skipLocked } = db.rowLocks
  return skipLocked === '' ? 'id = ?' : `id IN (SELECT id FROM tasks WHERE id = ? ${skipLocked})`
}

/** An existing task of the owner, or else the capacity for a new task. */
export type ExistingTask = TaskIdentity | TaskCapacity

interface TaskIdentity {
  readonly id: number
  readonly state: TaskState
}

/** The number of tasks that the owner may still open. */
interface TaskCapacity {
  readonly capacity: number
}

/** Prepares the opening of a new task, if its owner may have one more. */
function createTaskOpener(db: Sql) {
  const insert = db.prepareInsert(
    `INSERT INTO tasks (owner, native_id, agent, context, state, updated_at, share) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const checkCapacity = createCapacityCheck(db)
  return function* (
    batch: Batch,
    task: TaskIntake,
    { capacity, agent, now, state }: TaskCapacity & TaskChange,
  ): Operation<number | 'full'> {
    // Other transactions may open tasks of the owner at the same time, which this transaction cannot count.
    if (capacity <= maxOperations) batch.standAlone()
    if (capacity <= 0) return 'full'
    if (capacity <= uncheckedCapacity) checkCapacity(batch, task)
    addTask(batch, task.owner)
    return yield* insert(task.owner, task.id, agent, task.context, state, now, task.share?.name ?? null)
  }
}

const openCondition = `state IN (${openStates.map(state => `'${state}'`).join(', ')})`

/**
 * Prepares a check at the end of the transaction that an owner has no more open tasks than allowed, including tasks that other transactions have opened
 * in the meantime.
 */
function createCapacityCheck(db: Sql): (batch: Batch, task: TaskIntake) => void {
  const formatQuotaCheck = (rows: string) =>
    `SELECT count(*) <= ?2 AS is_so FROM (SELECT 1 FROM tasks WHERE owner = ?1 AND ${rows} AND ${openCondition} LIMIT +?3) AS open`
  const checkOwnerQuota = db.prepareCheck(formatQuotaCheck('true'))
  const checkShareQuota = db.prepareCheck(formatQuotaCheck('share = ?4'))
  return ({ checks, hasCompany }, { owner, maxOpenTasks = Number.POSITIVE_INFINITY, share }) => {
    if (!hasCompany) return
    if (Number.isFinite(maxOpenTasks))
      checks.set(`open tasks of ${owner}`, () => checkOwnerQuota(owner, maxOpenTasks, maxOpenTasks + 1))
    if (share)
      checks.set(`open tasks of ${JSON.stringify([owner, share.name])}`, () =>
        checkShareQuota(owner, share.maxOpenTasks, share.maxOpenTasks + 1, share.name),
      )
  }
}

/** Prepares the search for a task with a single statement, because each statement costs a round trip to a remote database. */
function createTaskFinder(db: Sql): (task: TaskIntake) => Operation<ExistingTask> {
  // Without this hint the query would read all tasks of the owner.
  const open = `SELECT 1 FROM tasks INDEXED BY tasks_open WHERE owner = ?1 AND ${openCondition} LIMIT +?3`
  const shared = `SELECT 1 FROM tasks INDEXED BY tasks_open_shares WHERE owner = ?1 AND share = ?4 AND ${openCondition} LIMIT +?5`
  const countUnlessKnown = (rows: string) => `CASE WHEN count(*) = 0 THEN (SELECT count(*) FROM (${rows})) ELSE 0 END`
  const find = db.prepare<(TaskIdentity | { id: null }) & { open: number; shared: number }>(
    `SELECT max(id) AS id, max(state) AS state, ${countUnlessKnown(open)} AS open, ${countUnlessKnown(shared)} AS shared
     FROM tasks WHERE owner = ?1 AND native_id = ?2`,
  )
  return function* ({ owner, id, maxOpenTasks = Number.POSITIVE_INFINITY, share }) {
    const row = yield* find.get(
      owner,
      id,
      Number.isFinite(maxOpenTasks) ? maxOpenTasks : 0,
      share?.name ?? null,
      share?.maxOpenTasks ?? 0,
    )
    if (!row) return { capacity: maxOpenTasks }
    if (row.id !== null) return row
    return { capacity: Math.min(maxOpenTasks - row.open, (share?.maxOpenTasks ?? maxOpenTasks) - row.shared) }
  }
}

export interface TaskRow {
  readonly id: number
  readonly owner: string
  readonly native_id: string
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  readonly updated_at: number
  readonly response_seq: number | null
  /** 1 if the task has further answers. */
  readonly has_earlier: 0 | 1
}

export const taskColumns = `tasks.id, tasks.owner, tasks.native_id, tasks.agent, tasks.context, tasks.state, tasks.updated_at, tasks.response_seq, EXISTS (SELECT 1 FROM messages e
  WHERE e.task_id = tasks.id AND e.kind = 'response' AND e.seq <> coalesce(tasks.response_seq, 0)) AS has_earlier`

/**
 * Runs `change` and adds its effect on the bytes of a message, its answer and its notes to the total of the task's owner. It is an operation
 * of a write.
 */
type CountChange = (batch: Batch, message: number, change: () => Operation<void>) => Operation<void>

export function createTaskByteTracker(db: Sql): CountChange {
  const measure = db.prepare<{ owner: string; bytes: number }>(
    `SELECT k.owner, coalesce(octet_length(m.raw), 0) + octet_length(m.content)
       + coalesce((SELECT octet_length(r.content) FROM messages r WHERE r.kind = 'response' AND r.answers = ?1), 0)
       + coalesce((SELECT sum(octet_length(e.content)) FROM messages e
           WHERE e.scope = 'trace' AND e.thread_id = m.thread_id AND e.answers = ?1), 0)
       + coalesce((SELECT sum(bytes) FROM blob_uses WHERE message = ?1), 0) AS bytes
     FROM messages m JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?1 AND m.kind = 'message'`,
  )
  return function* (batch, message, change) {
    const previousSize = yield* measure.get(message)
    yield* change()
    if (previousSize)
      addTaskBytes(batch, previousSize.owner, ((yield* measure.get(message))?.bytes ?? 0) - previousSize.bytes)
  }
}

/** The maximum number of bytes of entries that are read for all tasks of one list. */
export const maxEntryBytes = 8 * 1024 * 1024

type ToTaskRecord = (row: TaskRow, response: TaskRecord['response'], maxBytes?: number) => TaskRecord

/** Creates the function that builds task records. Their entries are read at the first access and then cached, because few callers need them. */
export function createTaskRecorder(db: Sql): ToTaskRecord {
  const readEntries = createTaskEntryReader(db)
  const { readEarlier, readStreamed } = createTaskAnswerReader(db)
  return (row, response, maxBytes = maxEntryBytes) => {
    const { owner, native_id: id, agent, context, state, updated_at: updatedAt } = row
    return defineLazyMembers<TaskRecord, 'entries' | 'earlierResponses' | 'canceledAnswers'>(
      { owner, id, agent, context, state, updatedAt, response },
      {
        entries: () => readEntries(row.id, maxBytes),
        earlierResponses: () => readEarlier(row, maxBytes),
        canceledAnswers: () => readStreamed(row),
      },
    )
  }
}

type ResponseColumns = { readonly [Column in keyof ResponseRow]: ResponseRow[Column] | null }

/** Prepares the search for a task and its last answer with a single statement. */
export function createTaskLookup(db: Sql, toRecord: ToTaskRecord): TaskStore['findTask'] {
  const find = db.prepare<TaskRow & ResponseColumns>(
    `SELECT ${taskColumns}, ${responseColumns} FROM tasks LEFT JOIN messages r ON r.seq = tasks.response_seq AND r.kind = 'response'
     WHERE tasks.owner = ? AND tasks.native_id = ?`,
  )
  return ({ owner, id }) =>
    db.read(function* () {
      const row = yield* find.get(owner, id)
      return row && toRecord(row, row.seq === null ? undefined : readResponse(row as ResponseRow).response)
    })
}

/**
 * Builds a task for the notice of the end of its turn. The task has no entries, because they would need a query. Returns undefined if anything else
 * needs a query, or if the database is unreachable. In that case, waiting callers read the task themselves.
 */
export function describeSettledTask(readTask: () => TaskRecord | undefined): SettledTask | undefined {
  try {
    const record = readTask()
    if (!record) return undefined
    const { owner, id, agent, context, state, updatedAt, response, earlierResponses, canceledAnswers } = record
    return { owner, id, agent, context, state, updatedAt, response, earlierResponses, canceledAnswers }
  } catch {
    return undefined
  }
}

interface TaskAnswerReader {
  /** Reads the newest answers before the last answer that fit into `maxBytes`, the oldest first. */
  readEarlier(task: TaskRow, maxBytes: number): Operation<readonly NormalizedResponse[]>
  /** Reads the received parts of answers that were interrupted by a cancellation. */
  readStreamed(task: TaskRow): Operation<TaskRecord['canceledAnswers']>
}

interface StreamedBody {
  readonly native_id?: string
  readonly content: { readonly parts: readonly Part[] }
}

function createTaskAnswerReader(db: Sql): TaskAnswerReader {
  const findFirst = createFirstEntryFinder(db)
  const listEarlier = db.prepare<ResponseRow>(
    `${selectResponse} AND r.task_id = ? AND r.seq >= ? AND r.seq <> ? ORDER BY r.seq`,
  )
  const listStreamed = db.prepare<{ content: string }>(
    `SELECT h.content FROM messages q JOIN messages h ON h.thread_id = q.thread_id AND h.answers = q.seq AND h.scope = 'trace' AND h.native_id = 'heard'
     WHERE q.task_id = ? AND q.kind = 'message' ORDER BY q.seq`,
  )
  return {
    *readEarlier({ id, has_earlier, response_seq }, maxBytes) {
      if (has_earlier === 0) return []
      return (yield* listEarlier.all(id, yield* findFirst(id, maxBytes), response_seq ?? 0)).map(
        row => readResponse(row).response,
      )
    },
    *readStreamed({ id, state }) {
      const notes = state === 'canceled' ? yield* listStreamed.all(id) : []
      return notes.flatMap(({ content }) => {
        const { native_id, content: streamedText } = parseJson<StreamedBody>(content)
        return native_id === undefined ? [] : [{ id: native_id, parts: streamedText.parts }]
      })
    },
  }
}

/** The maximum number of entries of one task that are read. */
const maxEntries = 1_000

/**
 * Creates a reader of a task's entries, the oldest first. A task may grow without limit, so the reader reads only the newest entries that fit into
 * `maxBytes`. It always reads the last entry, even if that is larger.
 */
function createTaskEntryReader(db: Sql): (task: number, maxBytes: number) => Operation<readonly Entry[]> {
  const findFirst = createFirstEntryFinder(db)
  const read = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM messages WHERE task_id = ? AND seq >= ? ORDER BY seq`)
  return function* (task, maxBytes) {
    return (yield* read.all(task, yield* findFirst(task, maxBytes))).map(readEntry)
  }
}

/** Prepares the search for the oldest of a task's newest entries that fit into `maxBytes`. The search returns the seq of that entry. */
function createFirstEntryFinder(db: Sql): (task: number, maxBytes: number) => Operation<number> {
  const findFirst = db.prepare<{ first: number | null }>(
    `SELECT min(seq) AS first FROM (
       SELECT seq, sum(size) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS newer, size
       FROM (SELECT seq, octet_length(content) AS size FROM messages WHERE task_id = ? ORDER BY seq DESC LIMIT ${maxEntries}))
     WHERE newer = 0 OR newer + size <= ?`,
  )
  return function* (task, maxBytes) {
    return (yield* findFirst.get(task, maxBytes))?.first ?? 0
  }
}
