import type { DatabaseSync } from 'node:sqlite'
import type { ChannelName, Entry, PeopleDesk, PersonHistoryRequest } from '@postern/core'
import { prepareQuery } from './database.ts'
import type { EntryRow } from './entries.ts'
import { readEntry, recalledColumns } from './entries.ts'

/** As many conversations are looked through, the newest. */
const mostThreads = 500

/** Both ends of all of a person's conversations with an agent, as of one. */
export function createPersonHistory(db: DatabaseSync): PeopleDesk['readPersonHistory'] {
  const findThreads = createPrivateThreadFinder(db)
  const place = 'coalesce(answers, seq)'
  const among = `SELECT seq FROM entries WHERE thread_id IN (SELECT value FROM json_each(?1)) AND scope = 'conversation'
    AND ${place} < ?2`
  const said = `SELECT ${recalledColumns}, (SELECT via FROM threads WHERE id = thread_id) AS via FROM entries`
  const inOrder = `ORDER BY ${place}, seq`
  const readHead = prepareQuery<SharedRow>(db, `${said} WHERE seq IN (${among} ${inOrder} LIMIT +?3) ${inOrder}`)
  const readTail = prepareQuery<SharedRow>(
    db,
    `${said} WHERE seq IN (${among} ORDER BY ${place} DESC, seq DESC LIMIT +?3) ${inOrder}`,
  )
  return async request => {
    const { before, head, tail } = request
    const threads = JSON.stringify(findThreads(request))
    const first = head > 0 ? readHead.all(threads, before, head) : []
    const newest = tail > 0 && head <= first.length ? readTail.all(threads, before, tail) : []
    const seen = new Set(first.map(({ seq }) => seq))
    return [...first, ...newest.filter(({ seq }) => !seen.has(seq))].map(readShared)
  }
}

interface SharedRow extends EntryRow {
  readonly via: ChannelName
}

function readShared(row: SharedRow): Entry {
  return { ...readEntry(row), via: row.via }
}

/** Capitals in mailboxes make no difference; in what else names somebody they do. */
export function createPrivateThreadFinder(
  db: DatabaseSync,
): (request: Pick<PersonHistoryRequest, 'agent' | 'scopes'>) => readonly number[] {
  const find = prepareQuery<{ id: number }>(
    db,
    `SELECT id FROM threads WHERE scope <> 'public' AND lower(scope) = lower(?1) AND via = ?2 AND agent = ?3
       AND (via = 'email' OR scope = ?1) ORDER BY id DESC LIMIT ${mostThreads}`,
  )
  return ({ agent, scopes }) => {
    const found = scopes.flatMap(({ via, scope }) => find.all(scope, via, agent)).map(({ id }) => id)
    return found.toSorted((left, right) => right - left).slice(0, mostThreads)
  }
}
