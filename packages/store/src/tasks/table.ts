import type {
  Entry,
  NormalizedResponse,
  Part,
  SettledTask,
  TaskIntake,
  TaskRecord,
  TaskState,
  TaskStore,
} from '@postern/core'
import type { EntryRow } from '../conversations/entries.ts'
import { entryColumns, readEntry } from '../conversations/entries.ts'
import type { Batch, Sql } from '../engine/database.ts'
import {
  addTask,
  addTaskBytes,
  mostAtOnce,
  parseJson,
  prepareCheck,
  prepareInsert,
  prepareTold,
  rowLocksOf,
} from '../engine/database.ts'
import { endTaskTotal } from '../engine/task-bytes.ts'
import type { ResponseRow } from '../messages/responses.ts'
import { readResponse, responseColumns, selectResponse } from '../messages/responses.ts'

export interface TaskTable {
  find(task: TaskIntake): FoundTask
  /**
   * The row of a task that takes one more message; `ended`, or `full` when its owner has as many open ones as they may, or `taken` when it was to be
   * a new one.
   */
  continueTask(batch: Batch, task: TaskIntake, at: ContinuedTask): number | 'ended' | 'full' | 'taken'
  setWorking(task: number, now: number): void
  /** The row alone: what was said in it is gone. */
  remove(task: number): void
  /** A task ends with the last of its turns: while another one is open it cannot have ended. @returns what reads it once the transaction is over */
  finish(task: number, state: TaskState, responseSeq: number | undefined, now: number): () => TaskRow | undefined
}

interface TaskMoment {
  readonly agent: string
  readonly now: number
  /** `working`: its turn begins at once. */
  readonly state: 'submitted' | 'working'
}

interface ContinuedTask extends TaskMoment {
  readonly known: FoundTask
}

const openStates: readonly TaskState[] = ['submitted', 'working', 'input_required', 'auth_required']

/** Other gateways may open tasks of the same owner now, whom nobody counts. So many at once, of all gateways, are never opened. */
const farFromFull = 256 * mostAtOnce

export function createTaskTable(db: Sql): TaskTable {
  const find = createTaskFinder(db)
  const open = createTaskOpening(db)
  const setState = db.prepare('UPDATE tasks SET state = ?, updated_at = ? WHERE id = ?')
  const setWorking = db.prepare(`UPDATE tasks SET state = 'working', updated_at = ? WHERE ${atFreeTask(db)}`)
  const remove = db.prepare<{ owner: string }>('DELETE FROM tasks WHERE id = ? RETURNING owner')
  const uncount = db.prepare(
    `INSERT INTO task_bytes (owner, bytes, tasks) VALUES (?, 0, -1)
     ON CONFLICT (owner, shard) DO UPDATE SET tasks = task_bytes.tasks + excluded.tasks`,
  )
  const endCount = db.prepare(endTaskTotal)
  const finish = prepareTold<TaskRow>(
    db,
    `UPDATE tasks SET updated_at = ?2, response_seq = coalesce(?3, response_seq), state = CASE
       WHEN EXISTS (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL) THEN 'submitted' ELSE ?4 END
     WHERE id = ?1 RETURNING ${taskColumns}`,
  )
  return {
    find,
    continueTask(batch, task, { known, agent, now, state }) {
      if ('room' in known) return open(batch, task, { ...known, agent, now, state })
      if (task.isNew) return 'taken'
      if (!openStates.includes(known.state) && !(task.reopens && known.state !== 'canceled')) return 'ended'
      setState.run(state, now, known.id)
      return known.id
    },
    remove(task) {
      const removed = remove.get(task)
      if (!removed) return
      uncount.run(removed.owner)
      endCount.run(removed.owner)
    },
    setWorking: (task, now) => void setWorking.run(now, task),
    finish: (task, state, responseSeq, now) => finish(task, now, responseSeq ?? null, state),
  }
}

/** A lease takes many tasks, and names none: it passes over one that somebody else continues now, who says that it waits again. */
function atFreeTask(db: Sql): string {
  const { skipLocked } = rowLocksOf(db)
  return skipLocked === '' ? 'id = ?' : `id IN (SELECT id FROM tasks WHERE id = ? ${skipLocked})`
}

/** A task of its owner; where there is none, how many they may open. */
export type FoundTask = KnownTask | TaskRoom

interface KnownTask {
  readonly id: number
  readonly state: TaskState
}

/** How many more tasks the owner may open. */
interface TaskRoom {
  readonly room: number
}

/** A new task, if its owner may have one more. */
function createTaskOpening(db: Sql) {
  const insert = prepareInsert(
    db,
    `INSERT INTO tasks (owner, native_id, agent, context, state, updated_at, share) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const checkRoom = createRoomCheck(db)
  return (batch: Batch, task: TaskIntake, { room, agent, now, state }: TaskRoom & TaskMoment): number | 'full' => {
    // Others of the owner may be opening one at the same time, and nobody counts theirs.
    if (room <= mostAtOnce) batch.standAlone()
    if (room <= 0) return 'full'
    if (room <= farFromFull) checkRoom(batch, task)
    addTask(batch, task.owner)
    return insert(task.owner, task.id, agent, task.context, state, now, task.share?.name ?? null)
  }
}

const isOpen = `state IN (${openStates.map(state => `'${state}'`).join(', ')})`

/** At the end of a transaction its owner may not have more open tasks than they may, with those that others have opened meanwhile. */
function createRoomCheck(db: Sql): (batch: Batch, task: TaskIntake) => void {
  const isWithin = (rows: string) =>
    `SELECT count(*) <= ?2 AS is_so FROM (SELECT 1 FROM tasks WHERE owner = ?1 AND ${rows} AND ${isOpen} LIMIT +?3) AS open`
  const ofOwner = prepareCheck(db, isWithin('true'))
  const ofShare = prepareCheck(db, isWithin('share = ?4'))
  return ({ checks, hasCompany }, { owner, most = Number.POSITIVE_INFINITY, share }) => {
    if (!hasCompany) return
    if (Number.isFinite(most)) checks.set(`open tasks of ${owner}`, () => ofOwner(owner, most, most + 1))
    if (share)
      checks.set(`open tasks of ${JSON.stringify([owner, share.name])}`, () =>
        ofShare(owner, share.most, share.most + 1, share.name),
      )
  }
}

/** One question: each costs a way to a database that is far. */
function createTaskFinder(db: Sql): (task: TaskIntake) => FoundTask {
  // Left to itself it would go through all tasks of the owner.
  const open = `SELECT 1 FROM tasks INDEXED BY tasks_open WHERE owner = ?1 AND ${isOpen} LIMIT +?3`
  const shared = `SELECT 1 FROM tasks INDEXED BY tasks_open_shares WHERE owner = ?1 AND share = ?4 AND ${isOpen} LIMIT +?5`
  const unlessKnown = (rows: string) => `CASE WHEN count(*) = 0 THEN (SELECT count(*) FROM (${rows})) ELSE 0 END`
  const find = db.prepare<(KnownTask | { id: null }) & { open: number; shared: number }>(
    `SELECT max(id) AS id, max(state) AS state, ${unlessKnown(open)} AS open, ${unlessKnown(shared)} AS shared
     FROM tasks WHERE owner = ?1 AND native_id = ?2`,
  )
  return ({ owner, id, most = Number.POSITIVE_INFINITY, share }) => {
    const row = find.get(owner, id, Number.isFinite(most) ? most : 0, share?.name ?? null, share?.most ?? 0)
    if (!row) return { room: most }
    if (row.id !== null) return row
    return { room: Math.min(most - row.open, (share?.most ?? most) - row.shared) }
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
  /** It has other answers than that one. */
  readonly has_earlier: 0 | 1
}

export const taskColumns = `tasks.id, tasks.owner, tasks.native_id, tasks.agent, tasks.context, tasks.state, tasks.updated_at, tasks.response_seq, EXISTS (SELECT 1 FROM messages e
  WHERE e.task_id = tasks.id AND e.kind = 'response' AND e.seq <> coalesce(tasks.response_seq, 0)) AS has_earlier`

/** What a message, its answer and what was noted between them take of the bytes of its task's owner: books what `change` makes of it. Synchronous: inside a write. */
type BookChange = (batch: Batch, message: number, change: () => void) => void

export function createTaskShares(db: Sql): BookChange {
  const measure = db.prepare<{ owner: string; bytes: number }>(
    `SELECT k.owner, coalesce(octet_length(m.raw), 0) + octet_length(m.content)
       + coalesce((SELECT octet_length(r.content) FROM messages r WHERE r.kind = 'response' AND r.answers = ?1), 0)
       + coalesce((SELECT sum(octet_length(e.content)) FROM messages e
           WHERE e.scope = 'trace' AND e.thread_id = m.thread_id AND e.answers = ?1), 0)
       + coalesce((SELECT sum(bytes) FROM blob_uses WHERE message = ?1), 0) AS bytes
     FROM messages m JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?1 AND m.kind = 'message'`,
  )
  return (batch, message, change) => {
    const before = measure.get(message)
    change()
    if (before) addTaskBytes(batch, before.owner, (measure.get(message)?.bytes ?? 0) - before.bytes)
  }
}

/** Of what was said in the tasks of one answer, so much is read at most. */
export const maxEntryBytes = 8 * 1024 * 1024

type ToTaskRecord = (row: TaskRow, response: TaskRecord['response'], maxBytes?: number) => TaskRecord

/** What was said is read when it is looked at, and that once: few callers do. */
export function createTaskRecorder(db: Sql): ToTaskRecord {
  const readEntries = createTaskEntryReader(db)
  const { readEarlier, readStreamed } = createTaskAnswerReader(db)
  return (row, response, maxBytes = maxEntryBytes) => {
    let entries: TaskRecord['entries'] | undefined
    let earlier: TaskRecord['earlier'] | undefined
    let heard: TaskRecord['heard'] | undefined
    return {
      owner: row.owner,
      id: row.native_id,
      agent: row.agent,
      context: row.context,
      state: row.state,
      updatedAt: row.updated_at,
      get entries() {
        entries ??= readEntries(row.id, maxBytes)
        return entries
      },
      response,
      get earlier() {
        earlier ??= readEarlier(row, maxBytes)
        return earlier
      },
      get heard() {
        heard ??= readStreamed(row)
        return heard
      },
    }
  }
}

type Answered = { readonly [Column in keyof ResponseRow]: ResponseRow[Column] | null }

/** A task and its last answer, in one question. */
export function createTaskLookup(db: Sql, toRecord: ToTaskRecord): TaskStore['findTask'] {
  const find = db.prepare<TaskRow & Answered>(
    `SELECT ${taskColumns}, ${responseColumns} FROM tasks LEFT JOIN messages r ON r.seq = tasks.response_seq AND r.kind = 'response'
     WHERE tasks.owner = ? AND tasks.native_id = ?`,
  )
  return async ({ owner, id }) => {
    const row = find.get(owner, id)
    return row && toRecord(row, row.seq === null ? undefined : readResponse(row as ResponseRow).response)
  }
}

/**
 * A task as those who wait get it with the end of its turn: without its entries, which would have to be read. Undefined where more has to be read of
 * it, or the database is away; whoever waits looks then.
 */
export function tellSettledTask(readTask: () => TaskRecord | undefined): SettledTask | undefined {
  try {
    const record = readTask()
    if (!record) return undefined
    const { owner, id, agent, context, state, updatedAt, response, earlier, heard } = record
    return { owner, id, agent, context, state, updatedAt, response, earlier, heard }
  } catch {
    return undefined
  }
}

interface TaskAnswerReader {
  /** The answers before the last one: the newest that stay within `maxBytes`, oldest first. */
  readEarlier(task: TaskRow, maxBytes: number): readonly NormalizedResponse[]
  /** What was heard of answers that a cancel broke off. */
  readStreamed(task: TaskRow): TaskRecord['heard']
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
    readEarlier({ id, has_earlier, response_seq }, maxBytes) {
      if (has_earlier === 0) return []
      return listEarlier.all(id, findFirst(id, maxBytes), response_seq ?? 0).map(row => readResponse(row).response)
    },
    readStreamed({ id, state }) {
      const notes = state === 'canceled' ? listStreamed.all(id) : []
      return notes.flatMap(({ content }) => {
        const { native_id, content: said } = parseJson<StreamedBody>(content)
        return native_id === undefined ? [] : [{ id: native_id, parts: said.parts }]
      })
    },
  }
}

/** Entries of one task at most. */
const maxEntries = 1_000

/**
 * What was said in a task, oldest first. A task may be continued without end, so only its newest entries are read: as many
 * as stay within `maxBytes`, and the last one however large it is.
 */
function createTaskEntryReader(db: Sql): (task: number, maxBytes: number) => readonly Entry[] {
  const findFirst = createFirstEntryFinder(db)
  const read = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM messages WHERE task_id = ? AND seq >= ? ORDER BY seq`)
  return (task, maxBytes) => read.all(task, findFirst(task, maxBytes)).map(readEntry)
}

/** The oldest of a task's newest entries that stay within `maxBytes`, by its seq. */
function createFirstEntryFinder(db: Sql): (task: number, maxBytes: number) => number {
  const findFirst = db.prepare<{ first: number | null }>(
    `SELECT min(seq) AS first FROM (
       SELECT seq, sum(size) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS newer, size
       FROM (SELECT seq, octet_length(content) AS size FROM messages WHERE task_id = ? ORDER BY seq DESC LIMIT ${maxEntries}))
     WHERE newer = 0 OR newer + size <= ?`,
  )
  return (task, maxBytes) => findFirst.get(task, maxBytes)?.first ?? 0
}
