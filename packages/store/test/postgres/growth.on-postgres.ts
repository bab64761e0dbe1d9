import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const atOnce = 100

/** Admitted, answered and kept, as tasks of one owner. */
async function passMessages(store: GatewayStore, from: number): Promise<void> {
  const ids = Array.from({ length: atOnce }, (_, at) => `m${from + at}`)
  const task = (id: string) => ({ owner: 'peer', id, context: id, most: 1_000_000 })
  await Promise.all(ids.map(id => store.admit({ ...sketchIntake(id), task: task(id) }, 'c')))
  for (;;) {
    const turns = await store.leaseTurns({ holder: 'worker', limit: atOnce, leaseMs: 30_000 })
    if (turns.length === 0) return
    await Promise.all(turns.map(turn => store.commit(turn, sketchAnswer(turn, 'hello'))))
    await Promise.all(turns.map(({ task }) => task && store.findTask(task)))
  }
}

/** Rows of the indexes of `messages` that were read since the tables were made. A connection has told them when it is closed. */
async function countReadRows(schema: string): Promise<number> {
  const [row] = await askServer<{ read: string }>(
    `SELECT coalesce(sum(idx_tup_read), 0) AS read FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND relname = 'messages'`,
  )
  return Number(row?.read)
}

async function isAnalyzed(schema: string): Promise<boolean> {
  const [row] = await askServer<{ tuples: number }>(
    `SELECT reltuples AS tuples FROM pg_class WHERE oid = '"${schema}".messages'::regclass`,
  )
  return Number(row?.tuples) > 0
}

test('a message in a young database does not read those before it, though nobody has told the server how large its tables are', async () => {
  const url = makeDatabase()
  const schema = schemaOf(url)
  const store = await openPostgresStore({
    channels: sketchedChannels,
    url,
    now: Date.now,
    log: discardLog,
    holder: 'worker',
  })
  // As on a server without autovacuum, or in its first minute.
  for (const table of ['messages', 'tasks', 'turns']) {
    await askServer(`ALTER TABLE "${schema}".${table} SET (autovacuum_enabled = off)`)
  }
  for (let passed = 0; passed < 300; passed += atOnce) await passMessages(store, passed)
  await expect.poll(() => isAnalyzed(schema), { timeout: 20_000 }).toBe(true)
  for (let passed = 300; passed < 1_500; passed += atOnce) await passMessages(store, passed)
  await store.close()
  // Each looks at most at the 300 that came before the server was told; read as at the beginning it would be 2,000.
  await expect.poll(() => countReadRows(schema), { timeout: 10_000 }).toBeGreaterThan(1_500)
  expect((await countReadRows(schema)) / 1_500).toBeLessThan(300)
})
