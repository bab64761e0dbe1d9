// Reads the conversations of a person with an agent.
import type { ChannelName } from '@postern/message'
import type { Entry, PeopleStore, PersonHistoryRequest } from '@postern/pipeline'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder } from '../sql/operation.ts'
import type { RecalledRow } from '../threads/entries.ts'
import { recalledColumns } from '../threads/entries.ts'
import { recallEntry } from '../threads/history.ts'
import { othersChatCondition } from '../threads/person-messages.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** The maximum number of conversations to read, the newest first. */
const maxThreads = 200

/** The position of an entry in a history. */
interface EntryOrder {
  readonly seq: number
  readonly position: number
}

interface SharedRow extends RecalledRow {
  readonly is_private: 0 | 1
  readonly channel: ChannelName
}

/**
 * Creates the reader of the first and last entries of a person's conversations with an agent, as if they were one conversation. The reader first sorts
 * the positions of the entries, and then reads only the requested entries.
 */
export function createPersonHistory({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): PeopleStore['readPersonHistory'] {
  const findThreads = createPrivateThreadFinder({ db, channels })
  const positionSql = 'coalesce(answers, seq)'
  const selectPositions = `SELECT seq, ${positionSql} AS position FROM messages WHERE thread_id = ? AND scope = 'conversation' AND ${positionSql} < ?`
  const listFirst = db.prepare<EntryOrder>(`${selectPositions} ORDER BY ${positionSql}, seq LIMIT +?`)
  const listLast = db.prepare<EntryOrder>(`${selectPositions} ORDER BY ${positionSql} DESC, seq DESC LIMIT +?`)
  const read = db.prepare<SharedRow>(
    `SELECT ${recalledColumns}, (SELECT t.channel FROM threads t WHERE t.id = e.thread_id) AS channel, ${othersChatCondition('?2', channels)} AS is_private
     FROM messages e WHERE seq = ?1`,
  )
  const readAll = (order: readonly EntryOrder[], speakers: string): Operation<Entry[]> =>
    flatMapInOrder(order, function* ({ seq }) {
      const row = yield* read.get(seq, speakers)
      return row ? [{ ...recallEntry(row), via: row.channel }] : []
    })

  return request =>
    db.read(function* () {
      const { beforeMessage: before, head, tail, thread: currentThread, speakers = [] } = request
      const threadIds = yield* findThreads(request)
      const threads =
        currentThread === undefined || threadIds.includes(currentThread) ? threadIds : [currentThread, ...threadIds]
      function* listAll(query: typeof listFirst, limit: number) {
        return (yield* flatMapInOrder(threads, thread => query.all(thread, before, limit))).toSorted(comparePositions)
      }
      const firstEntries = head > 0 ? (yield* listAll(listFirst, head)).slice(0, head) : []
      const lastEntries = tail > 0 && head <= firstEntries.length ? (yield* listAll(listLast, tail)).slice(-tail) : []
      const headEnd = firstEntries.at(-1)
      return yield* readAll(
        [...firstEntries, ...lastEntries.filter(entry => !headEnd || comparePositions(headEnd, entry) < 0)],
        formatJson(speakers),
      )
    })
}

function comparePositions(a: EntryOrder, b: EntryOrder): number {
  return a.position - b.position || a.seq - b.seq
}

/** Prepares the search for private threads by their scopes. The scopes of some channels are compared regardless of case. */
function createPrivateThreadFinder({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): (
  request: Pick<PersonHistoryRequest, 'agent' | 'scopes'>,
) => Operation<readonly number[]> {
  const find = db.prepare<{ id: number }>(
    `SELECT id FROM threads WHERE scope <> 'public' AND lower(scope) = lower(?1) AND channel = ?2 AND agent = ?3
       AND (${channels.sql.caseInsensitiveCondition('channel')} OR scope = ?1) ORDER BY id DESC LIMIT ${maxThreads}`,
  )
  return function* ({ agent, scopes }) {
    const threadIds = (yield* flatMapInOrder(scopes, ({ via, scope }) => find.all(scope, via, agent))).map(
      ({ id }) => id,
    )
    return threadIds.toSorted((a, b) => b - a).slice(0, maxThreads)
  }
}
