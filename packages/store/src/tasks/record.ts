import type { SettledTask, TaskRecord } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { createTaskAnswerReader } from './answers.ts'
import { createTaskEntryReader } from './entries.ts'
import type { TaskRow } from './row.ts'

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
