import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { initialSchema } from '../initial/initial-schema.ts'
import { addThreadIds } from './2-thread-ids.ts'

/** A thread of a database of number 1. It has an entry with this id if somebody has written in it. */
interface OldThread {
  readonly key: string
  readonly scope: string
  readonly channel?: string
  readonly agent?: string
  readonly entry?: string
}

/** Reads the id of each thread after the step; null stands for its key. */
function readIdsAfter(threads: readonly OldThread[]): readonly unknown[] {
  const db = new DatabaseSync(':memory:')
  db.exec(initialSchema)
  const insert = db.prepare('INSERT INTO threads (agent, channel, scope, key) VALUES (?, ?, ?, ?)')
  const name = db.prepare(
    'INSERT INTO thread_aliases (name, agent, channel, scope, is_key, thread_id) VALUES (?, ?, ?, ?, 1, ?)',
  )
  const say = db.prepare(
    "INSERT INTO messages (entry_id, kind, scope, thread_id, at, author, content) VALUES (?, 'message', 'conversation', ?, '', '{}', '[]')",
  )
  for (const { key, scope, channel = 'a2a', agent = 'desk', entry } of threads) {
    const { lastInsertRowid } = insert.run(agent, channel, scope, key)
    name.run(key, agent, channel, scope, lastInsertRowid)
    if (entry !== undefined) say.run(entry, lastInsertRowid)
  }
  db.exec(addThreadIds)
  return db
    .prepare('SELECT public_id FROM threads ORDER BY id')
    .all()
    .map(({ public_id }) => public_id)
}

test('a thread with its own key keeps that id for each of its agents', () => {
  const [one, other] = [
    { key: 't1', scope: 'ada' },
    { key: 't1', scope: 'ada', agent: 'help' },
  ]
  expect(readIdsAfter([one, other, { key: 't2', scope: 'public' }])).toEqual([null, null, null])
})

test('threads of different readers with one key get separate ids, so that nobody reaches the memory of both', () => {
  const ids = readIdsAfter([
    { key: 't1', scope: 'ada', entry: 'e1' },
    { key: 't1', scope: 'eve', entry: 'e2' },
    { key: 't1', scope: 'ada', channel: 'web' },
  ])
  expect(ids).toEqual(['e1', 'e2', 't1 #3'])
})
