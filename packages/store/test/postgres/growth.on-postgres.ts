import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const atOnce = 100

/** Admits and answers messages as tasks of one owner, which are stored. */
async function passMessages(store: GatewayStore, from: number): Promise<void> {
  const ids = Array.from({ length: atOnce }, (_, at) => `m${from + at}`)
  const task = (id: string) => ({ owner: 'peer', id, context: id, maxOpenTasks: 1_000_000 })
  await Promise.all(ids.map(id => store.admit({ ...sketchIntake(id), task: task(id) }, 'c')))
  for (;;) {
    const turns = await store.leaseTurns({ holder: 'worker', limit: atOnce, leaseMs: 30_000 })
    if (turns.length === 0) return
    await Promise.all(turns.map(turn => store.commit(turn, sketchAnswer(turn, 'hello'))))
    await Promise.all(turns.map(({ task }) => task && store.findTask(task)))
  }
}

/** Counts the rows that were read from the indexes of `messages` since the tables were made. A connection reports them when it is closed. */
async function countReadRows(schema: string): Promise<number> {
  const [row] = await askServer<{ read: string }>(
    `SELECT coalesce(sum(idx_tup_read), 0) AS read FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND relname = 'messages'`,
  )
  return Number(row?.read)
}

/** Counts the rows of `messages` that its indexes led to. */
async function countFetchedRows(schema: string): Promise<number> {
  const [row] = await askServer<{ fetched: string }>(
    `SELECT idx_tup_fetch AS fetched FROM pg_stat_user_tables WHERE schemaname = '${schema}' AND relname = 'messages'`,
  )
  return Number(row?.fetched)
}

async function isAnalyzed(schema: string): Promise<boolean> {
  const [row] = await askServer<{ tuples: number }>(
    `SELECT reltuples AS tuples FROM pg_class WHERE oid = '"${schema}".messages'::regclass`,
  )
  return Number(row?.tuples) > 0
}

test('a message in a new database does not scan earlier ones, even without table statistics', async () => {
  const url = makeDatabase()
  const schema = schemaOf(url)
  const store = await openPostgresStore({
    channels: sketchedChannels,
    url,
    now: Date.now,
    log: discardLog,
    holder: 'worker',
  })
  // A server without autovacuum, or in its first minute, is in this state.
  for (const table of ['messages', 'tasks', 'turns']) {
    await askServer(`ALTER TABLE "${schema}".${table} SET (autovacuum_enabled = off)`)
  }
  for (let passed = 0; passed < 300; passed += atOnce) await passMessages(store, passed)
  await expect.poll(() => isAnalyzed(schema)).toBe(true)
  for (let passed = 300; passed < 1_500; passed += atOnce) await passMessages(store, passed)
  await store.close()
  // Each message reads at most the 300 rows from before the analysis. Without the analysis it would read 2,000.
  await expect.poll(() => countReadRows(schema)).toBeGreaterThan(1_500)
  expect((await countReadRows(schema)) / 1_500).toBeLessThan(300)
})

test('an edit reads none of the earlier edits except the newest', async () => {
  const url = makeDatabase()
  const options = { channels: sketchedChannels, url, now: Date.now, log: discardLog, holder: 'worker' }
  const store = await openPostgresStore(options)
  const authorship = { author: 'https://peer.test/ada', object: 'note' }
  const passed = 300
  for (let number = 0; number < passed; number += 1) {
    const message = { thread_source: 't', kind: number === 0 ? 'message' : 'edit' } as const
    await store.admit(sketchIntake(`m${number}`, { authorship, message }), 'c')
  }
  await store.close()
  await expect.poll(() => countFetchedRows(schemaOf(url))).toBeGreaterThan(passed)
  // An edit reads six rows. If it read all earlier edits, it would read 150.
  expect((await countFetchedRows(schemaOf(url))) / passed).toBeLessThan(12)
})

test('no index of the messages contains their text, so that a reworded note changes no index', async () => {
  const url = makeDatabase()
  const options = { channels: sketchedChannels, url, now: Date.now, log: discardLog, holder: 'worker' }
  await (await openPostgresStore(options)).close()
  const indexes = await askServer<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = '${schemaOf(url)}' AND tablename = 'messages'`,
  )
  expect(indexes.length).toBeGreaterThan(3)
  expect(indexes.filter(({ indexdef }) => /\b(?:content|envelope|edited_at)\b/.test(indexdef))).toEqual([])
})
