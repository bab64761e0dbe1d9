import { DatabaseSync } from 'node:sqlite'
import type { Turn, TurnConsumer } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../test/open-test-store.ts'
import { listUnshardedKeys, readAgentPaths } from '../test/shards/agent-paths.ts'
import { findAgents, findCrossings } from '../test/shards/crossings.ts'
import { logStatements } from '../test/shards/statement-log.ts'
import { migrateDatabase } from './schema/migrate.ts'

/** The tables that do not belong to agents, and what a distributed database does with each (decision 0064). */
const otherTables = {
  store_setup: 'a few rows of the whole store, copied to each server',
  secrets: 'a few rows of the whole store, copied to each server',
  gateway_runs: 'a row for each start of a gateway, copied to each server',
  counters: 'totals of the whole store, in a row for each gateway: on one server',
  lookups: 'answers of other hosts, which serve all agents: on one server',
  proof_keys: 'keys of other hosts, which serve all agents: on one server',
  single_use_keys: 'digests of single-use keys and of forgotten messages: sharded by digest',
  turn_budgets: 'turns of a sender or channel over all agents: sharded by key',
  withdrawals: 'deletions by authors, who do not name an agent: sharded by author',
  blobs: 'files of all agents, each stored once: sharded by digest',
  objects: 'files of owners: sharded by owner',
  records: 'records of chats and swarms: sharded by owner',
  task_bytes: 'totals of an owner: sharded by owner',
  kept_data: 'totals of an owner: sharded by owner',
  stored_bytes: 'totals of an owner: sharded by owner',
  transcript_threads: 'a transcript has messages of several agents: sharded by thread',
  transcript_usage: 'totals of an owner: sharded by owner',
  transcript_aliases: 'sharded by thread, like its transcript',
  transcript_entries: 'sharded by thread, like its transcript',
  transcript_entry_names: 'sharded by thread, like its transcript',
}

/** The unique keys that need the agent before their tables can be distributed. */
const unshardedKeys = {
  'tasks (owner,native_id)': 'a client may ask for a task at an address that names no agent',
  'requirements (id)': 'a random id',
  'requirements (digest)': 'a digest of a random secret',
  'requirements (receipt)': 'a random text',
}

/** The searches of the hot path that concern several agents. */
const crossings = {
  'turns by turns_due (due_at<?)': 'a poll leases due turns of all agents',
  'deliveries by deliveries_due_answers (due_at<?)': 'a poll leases due deliveries of all agents',
  'tasks by sqlite_autoindex_tasks_1 (owner=? AND native_id=?)': 'the key of a task does not name the agent',
  'tasks by tasks_open (owner=?)': 'the limit of open tasks counts those of an owner at all agents',
  'tasks by tasks_open_shares (owner=? AND share=?)': 'the same for a share of an owner',
  counters: otherTables.counters,
  single_use_keys: otherTables.single_use_keys,
  task_bytes: otherTables.task_bytes,
}

/** Opens an empty database with the tables of the store, and finds the ways to its agents. */
function openShape() {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  return { db, paths: readAgentPaths(db) }
}

/** Opens a store, with a log of its statements and the agents of its rows. */
async function openLoggedStore() {
  const { store, file } = await openStoreUnderTest()
  const rows = readAgentPaths(new DatabaseSync(file, { readOnly: true }))
  return { store, log: logStatements(), rows }
}

type LoggedStore = Awaited<ReturnType<typeof openLoggedStore>>

const request = { holder: 'worker', leaseMs: 60_000 }

/** Answers the turns of new threads within the transactions of their messages. */
function answerAtOnce({ store }: LoggedStore): void {
  const consumer: TurnConsumer = {
    ...request,
    maxConcurrent: () => Number.POSITIVE_INFINITY,
    hasCapacity: () => true,
    continuesAdmission: () => true,
    beginPoll: () => ({ limit: 10, shares: { maxPerGroup: 10, usedByGroup: new Map() } }),
    endPoll() {},
    reserveSlot() {},
    releaseSlot() {},
    undoLease() {},
    begin: turn => void store.commit(turn, answerOf(turn)),
  }
  store.setTurnConsumer?.(consumer)
}

const answerOf = (turn: Turn) => sketchAnswer(turn, 'heard', [`https://peer.test/${turn.agent}`])

const agents = ['ada', 'bob']

/** Runs messages of two agents with tasks and conversations through admission, turns and deliveries, one operation after another. */
async function runHotPath(logged: LoggedStore): Promise<void> {
  const { store } = logged
  answerAtOnce(logged)
  for (const agent of agents) {
    const task = { owner: 'eve', id: `task of ${agent}`, context: 'c' }
    const message = { thread_source: `thread of ${agent}` }
    await store.admit(sketchIntake(`first of ${agent}`, { agent, task, message }), 'c')
    await store.admit(sketchIntake(`first of ${agent}`, { agent, task, message }), 'c')
    await store.admit(sketchIntake(`second of ${agent}`, { agent, message }), 'c')
    await store.findTask(task)
  }
  const turns = await store.leaseTurns({ ...request, limit: 9 })
  for (const turn of turns) {
    await store.renew(turn, request.leaseMs)
    await store.commit(turn, answerOf(turn))
    await store.findAnswer(turn.message)
  }
  const deliveries = await store.leaseDeliveries({ ...request, limit: 9, rank: 'answer' })
  for (const delivery of deliveries) await store.settle(delivery, { state: 'sent' })
  expect([turns.length, deliveries.length]).toEqual([2, 2])
}

test('every table carries its agent or refers to a row that does, with named exceptions', () => {
  const { db, paths } = openShape()
  expect(paths.otherTables.toSorted()).toEqual(Object.keys(otherTables).toSorted())
  expect(listUnshardedKeys(db, paths).toSorted()).toEqual(Object.keys(unshardedKeys).toSorted())
})

test('every statement of the hot path finds rows by their agent or by a row of theirs, with named exceptions', async () => {
  const { db, paths } = openShape()
  const logged = await openLoggedStore()
  await runHotPath(logged)
  const statements = new Set(logged.log.take().flatMap(transaction => transaction.map(({ sql }) => sql)))
  expect(statements.size).toBeGreaterThan(25)
  const foundCrossings = [...statements].flatMap(sql => findCrossings(db, paths, sql))
  expect([...new Set(foundCrossings)].toSorted()).toEqual(Object.keys(crossings).toSorted())
})

test('no transaction of the hot path touches two agents, except for polls', async () => {
  const logged = await openLoggedStore()
  await runHotPath(logged)
  const transactions = logged.log.take()
  const isPoll = (statements: (typeof transactions)[number]) => statements.some(({ sql }) => /\bdue_at <= \?/.test(sql))
  const touched = transactions.map(transaction => ({
    isPoll: isPoll(transaction),
    agents: findAgents(logged.rows, transaction),
  }))
  expect(touched.filter(each => each.agents.length > 1).map(each => each.isPoll)).toEqual([true, true])
  for (const agent of agents) expect(touched.filter(each => each.agents.join() === agent).length).toBeGreaterThan(4)
})

test.each([
  ['SELECT seq FROM messages WHERE principal = ?', ['messages by a scan']],
  ['UPDATE turns SET due_at = ? WHERE due_at > ?', ['turns by turns_due (due_at>?)']],
  ['SELECT 1 FROM threads t JOIN lookups l ON l.id = t.id WHERE t.agent = ?', ['threads by a scan', 'lookups']],
  ['INSERT INTO records (kind, owner, key, version, value) VALUES (?, ?, ?, ?, ?)', ['records']],
])('the check finds a statement that crosses shards: %s', (sql, expected) => {
  const { db, paths } = openShape()
  expect(findCrossings(db, paths, sql)).toEqual(expected)
})

test('the check finds a transaction of two agents: two admissions that share a commit', async () => {
  const { store, log, rows } = await openLoggedStore()
  await Promise.all(agents.map(agent => store.admit(sketchIntake(`first of ${agent}`, { agent }), 'c')))
  expect(log.take().map(transaction => findAgents(rows, transaction))).toContainEqual(agents)
})
