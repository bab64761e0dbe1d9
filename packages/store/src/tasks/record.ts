import type { Entry, NormalizedResponse, Part, SettledTask, TaskRecord } from '@postern/core'
import type { EntryRow } from '../conversations/entries.ts'
import { entryColumns, readEntry } from '../conversations/entries.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'
import type { ResponseRow } from '../messages/responses.ts'
import { readResponse, selectResponse } from '../messages/responses.ts'
import type { TaskRow } from './table.ts'

/** Of what was said in the tasks of one answer, so much is read at most. */
export const maxEntryBytes = 8 * 1024 * 1024

type ToTaskRecord = (row: TaskRow, response: TaskRecord['response'], maxBytes?: number) => TaskRecord

/** What was said is read when it is looked at, and that once: few callers do. */
export function createTaskRecorder(db: Database): ToTaskRecord {
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

/**
 * A task as another thread gets it with the end of its turn: without its entries, which would have to be read. Undefined when the database is away;
 * whoever waits looks then.
 */
export function toSettledTask(record: TaskRecord): SettledTask | undefined {
  try {
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

function createTaskAnswerReader(db: Database): TaskAnswerReader {
  const findFirst = createFirstEntryFinder(db)
  const listEarlier = prepareQuery<ResponseRow>(
    db,
    `${selectResponse} AND r.task_id = ? AND r.seq >= ? AND r.seq <> ? ORDER BY r.seq`,
  )
  const listStreamed = prepareQuery<{ content: string }>(
    db,
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
function createTaskEntryReader(db: Database): (task: number, maxBytes: number) => readonly Entry[] {
  const findFirst = createFirstEntryFinder(db)
  const read = prepareQuery<EntryRow>(
    db,
    `SELECT ${entryColumns} FROM messages WHERE task_id = ? AND seq >= ? ORDER BY seq`,
  )
  return (task, maxBytes) => read.all(task, findFirst(task, maxBytes)).map(readEntry)
}

/** The oldest of a task's newest entries that stay within `maxBytes`, by its seq. */
function createFirstEntryFinder(db: Database): (task: number, maxBytes: number) => number {
  const findFirst = prepareQuery<{ first: number | null }>(
    db,
    `SELECT min(seq) AS first FROM (
       SELECT seq, sum(size) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS newer, size
       FROM (SELECT seq, octet_length(content) AS size FROM messages WHERE task_id = ? ORDER BY seq DESC LIMIT ${maxEntries}))
     WHERE newer = 0 OR newer + size <= ?`,
  )
  return (task, maxBytes) => findFirst.get(task, maxBytes)?.first ?? 0
}
