import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import { discardLog } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'
import { migrateDatabase } from '../schema/migrate.ts'

const views = [
  [
    'a scope',
    { scopes: ['global'], kinds: ['text'] },
    'transcript_entries_scope (thread=? AND scope=? AND seq>? AND seq<?)',
  ],
  [
    'agents',
    { agent_keys: ['a', 'b'], scopes: ['agent'] },
    'transcript_entries_agent (thread=? AND agent_key=? AND seq>? AND seq<?)',
  ],
  ['the chat', { chat: true }, 'transcript_entries_chat (thread=? AND chat_seq>? AND chat_seq<?)'],
] as const

test.each(views)('a page of %s uses its own index, without cost for other entries', async (_, range, index) => {
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => 0, log: discardLog })
  const thread = await store.transcript.openThread('ann', { transport: 'x', key: 'a' })
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await store.transcript.read(thread, { ...range, tail: 50, max_bytes: 1_000_000 })
  await store.transcript.read(thread, { ...range, limit: 50 })
  const statements = prepare.mock.calls.map(([sql]) => sql).filter(sql => sql.includes('transcript_entries e'))
  prepare.mockRestore()
  await store.close()
  const db = new DatabaseSync(':memory:')
  migrateDatabase(db)
  const readings = statements.flatMap(sql =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .filter(detail => detail.includes(' e ')),
  )
  expect(statements).toHaveLength(3)
  expect(new Set(readings)).toEqual(new Set([`SEARCH e USING INDEX ${index}`]))
})
