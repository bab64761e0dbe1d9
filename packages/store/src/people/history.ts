import type { ChannelName, Entry, PeopleStore, PersonHistoryRequest } from '@postern/core'
import type { RecalledRow } from '../conversations/entries.ts'
import { recalledColumns } from '../conversations/entries.ts'
import { recallEntry } from '../conversations/history.ts'
import { isOthersChat } from '../conversations/person-words.ts'
import { formatJson } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** As many conversations are looked through, the newest. */
const mostThreads = 200

/** Where something was said: the message that it is or answers, and itself. */
interface Place {
  readonly seq: number
  readonly position: number
}

interface SharedRow extends RecalledRow {
  readonly is_private: 0 | 1
  readonly channel: ChannelName
}

/** Both ends of all of a person's conversations with an agent, as of one: places are put in order first, and only what is wanted is read. */
export function createPersonHistory({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): PeopleStore['readPersonHistory'] {
  const findThreads = createPrivateThreadFinder({ db, channels })
  const place = 'coalesce(answers, seq)'
  const places = `SELECT seq, ${place} AS position FROM messages WHERE thread_id = ? AND scope = 'conversation' AND ${place} < ?`
  const findFirst = db.prepare<Place>(`${places} ORDER BY ${place}, seq LIMIT +?`)
  const findLast = db.prepare<Place>(`${places} ORDER BY ${place} DESC, seq DESC LIMIT +?`)
  const read = db.prepare<SharedRow>(
    `SELECT ${recalledColumns}, (SELECT t.channel FROM threads t WHERE t.id = e.thread_id) AS channel, ${isOthersChat('?2', channels)} AS is_private
     FROM messages e WHERE seq = ?1`,
  )
  const readAll = (found: readonly Place[], speakers: string): Entry[] =>
    found.flatMap(({ seq }) => {
      const row = read.get(seq, speakers)
      return row ? [{ ...recallEntry(row), via: row.channel }] : []
    })

  return async request => {
    const { before, head, tail, thread: current, speakers = [] } = request
    const found = findThreads(request)
    const threads = current === undefined || found.includes(current) ? found : [current, ...found]
    const listAll = (query: typeof findFirst, limit: number) =>
      threads.flatMap(thread => query.all(thread, before, limit)).toSorted(byPlace)
    const first = head > 0 ? listAll(findFirst, head).slice(0, head) : []
    const last = tail > 0 && head <= first.length ? listAll(findLast, tail).slice(-tail) : []
    const end = first.at(-1)
    return readAll([...first, ...last.filter(each => !end || byPlace(end, each) < 0)], formatJson(speakers))
  }
}

function byPlace(left: Place, right: Place): number {
  return left.position - right.position || left.seq - right.seq
}

/** Capitals in mailboxes make no difference; in what else names somebody they do. */
function createPrivateThreadFinder({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): (
  request: Pick<PersonHistoryRequest, 'agent' | 'scopes'>,
) => readonly number[] {
  const find = db.prepare<{ id: number }>(
    `SELECT id FROM threads WHERE scope <> 'public' AND lower(scope) = lower(?1) AND channel = ?2 AND agent = ?3
       AND (${channels.sql.ignoresCase('channel')} OR scope = ?1) ORDER BY id DESC LIMIT ${mostThreads}`,
  )
  return ({ agent, scopes }) => {
    const found = scopes.flatMap(({ via, scope }) => find.all(scope, via, agent)).map(({ id }) => id)
    return found.toSorted((left, right) => right - left).slice(0, mostThreads)
  }
}
