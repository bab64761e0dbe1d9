import type { NormalizedResponse, Part, TaskRecord } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'
import type { ResponseRow } from '../messages/responses.ts'
import { readResponse, selectResponse } from '../messages/responses.ts'
import { createFirstEntryFinder } from './entries.ts'
import type { TaskRow } from './row.ts'

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

export function createTaskAnswerReader(db: Database): TaskAnswerReader {
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
