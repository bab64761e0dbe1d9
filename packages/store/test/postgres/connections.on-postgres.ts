import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { sketchedChannels } from '@postern/testing'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { PooledConnection } from '../../src/postgres/connection/pool.ts'
import { connectionsOfGateway, openConnectionPool } from '../../src/postgres/connection/pool.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { toClientConfig } from '../../src/postgres/server/address.ts'
import { lockNumberOf } from '../../src/postgres/server/lock-number.ts'
import { readPostgresUrl } from '../../src/postgres/server/settings.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer, testServer } from './test-server.ts'

/** Opens a connection to the server that a test can cut or silence. */
async function openProxy(url: string) {
  const target = new URL(url)
  let isSilent = false
  const sockets: Socket[] = []
  // A silent proxy does not even close its half of a connection.
  const server = createServer({ allowHalfOpen: true }, clientSocket => {
    const serverSocket = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true })
    for (const [from, to] of [
      [clientSocket, serverSocket],
      [serverSocket, clientSocket],
    ] as const) {
      sockets.push(from)
      from.on('data', bytes => void (isSilent || to.write(bytes)))
      from.on('error', () => {})
      from.on('end', () => void (isSilent || to.end()))
      from.on('close', () => void (isSilent || to.destroy()))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  const clientSocket = new URL(url)
  clientSocket.port = String((server.address() as { readonly port: number }).port)
  const beSilent = () => {
    isSilent = true
  }
  return { url: clientSocket.href, cut, beSilent }
}

const open = (url: string) =>
  openPostgresStore({ channels: sketchedChannels, url, now: Date.now, log: discardLog, holder: 'one' })

/** Starts a separate program, which prints `open` and continues after its first input. */
async function startProgram(url: string) {
  const program = `
    import { openPostgresStore } from '${new URL('../../src/postgres/index.ts', import.meta.url).href}'
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const store = await openPostgresStore({ channels: [], url: process.env.STORE_URL, now: Date.now, log, holder: 'one' })
    console.log('open')
    process.stdin.once('data', async () => {
      process.stdin.destroy()
      await store.close()
    })`
  const args = ['--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, STORE_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => expect.fail('the program has ended'))])
  return {
    /** Resolves when the program has ended. If it hangs, the test times out. */
    async close(): Promise<void> {
      child.stdin.write('close\n')
      await once(child, 'exit')
    },
  }
}

const countConnections = async (url: string) =>
  (
    await askServer('SELECT 1 FROM pg_stat_activity WHERE application_name = $1', 'public', [
      `postern ${schemaOf(url)}`,
    ])
  ).length

test('a process that closes its store ends even if the server is silent', async () => {
  const url = makeDatabase()
  const proxy = await openProxy(url)
  const program = await startProgram(proxy.url)
  await expect.poll(() => countConnections(url)).toBe(connectionsOfGateway)
  await delay(200)
  proxy.beSilent()
  await program.close()
})

test('connections that the server has not accepted do not delay the close', async () => {
  const lock = 77_001
  await askServer(`SELECT pg_advisory_lock(${lock})`)
  const { server } = readPostgresUrl(testServer.url)
  const pool = openConnectionPool({ client: toClientConfig(server), setUp: `SELECT pg_advisory_lock_shared(${lock})` })
  const countWaiting = async () =>
    (await askServer(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = ${lock}`)).length
  try {
    await expect.poll(countWaiting).toBe(4)
    await expect(pool.close()).resolves.toBeUndefined()
  } finally {
    await askServer(`SELECT pg_advisory_unlock(${lock})`)
  }
})

test('a process that closes its store ends even if the server still scans a table for it', async () => {
  const url = makeDatabase()
  const schema = schemaOf(url)
  await (await open(url)).close()
  await askServer(`ALTER TABLE "${schema}".secrets SET (autovacuum_enabled = off)`)
  await askServer(`INSERT INTO "${schema}".secrets SELECT n::text, repeat('x', 100) FROM generate_series(1, 5000) AS n`)
  const countWaiting = async () =>
    (await askServer(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '"${schema}".secrets'::regclass`)).length
  // ANALYZE waits for this lock.
  await askServer(`BEGIN; LOCK TABLE "${schema}".secrets IN SHARE UPDATE EXCLUSIVE MODE`)
  try {
    const program = await startProgram(url)
    await expect.poll(countWaiting).toBe(1)
    await program.close()
  } finally {
    await askServer('ROLLBACK')
  }
})

test('a store that closes while it reconnects leaves no connection behind', async () => {
  const url = makeDatabase()
  const proxy = await openProxy(url)
  const store = await open(proxy.url)
  await store.findNextDueAt()
  // Each new connection waits for this lock, shared. An exclusive waiter gets it before those that come later.
  const lock = lockNumberOf(`${schemaOf(url)} one`)
  const holder = new pg.Client(testServer.url)
  await holder.connect()
  const locked = holder.query(`SELECT pg_advisory_lock(${lock})`)
  await expect
    .poll(() =>
      askServer(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND mode = 'ExclusiveLock'`),
    )
    .toHaveLength(1)
  proxy.cut()
  await locked
  await expect.poll(() => countConnections(url)).toBe(connectionsOfGateway)
  await store.close()
  await holder.end()
  await delay(200)
  await expect.poll(() => countConnections(url)).toBe(0)
})

test('a closing store answers its earlier calls, and drops later notes', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const store = await open(makeDatabase())
  const asked = [
    store.readOrCreateSecret('key', async () => 'made'),
    store.listTasks({ owner: 'peer', limit: 3 }),
    store.checkWork(),
  ]
  const closed = store.close()
  store.noteLookup({ key: 'a', at: 1, answer: {} })
  expect(await Promise.all(asked)).toEqual(['made', { tasks: [], total: 0 }, undefined])
  await closed
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

const ownPid = { name: 'own', text: 'SELECT pg_backend_pid() AS pid' }
const pidOf = async (line: PooledConnection) =>
  Number((await line.run([{ statement: ownPid, values: [] }], true))[0]?.rows[0]?.pid)

/** Opens a pool and acquires all of its connections. */
async function openHeldPool() {
  const name = `pool ${Math.random()}`
  const client = { ...toClientConfig(readPostgresUrl(testServer.url).server), application_name: name }
  const pool = openConnectionPool({ client, setUp: 'SELECT 1' })
  const held = await Promise.all(Array.from({ length: 4 }, pool.acquire))
  const pids = await Promise.all(held.map(pidOf))
  const countThere = async () =>
    (await askServer('SELECT 1 FROM pg_stat_activity WHERE application_name = $1', 'public', [name])).length
  const cut = async (pid: number | undefined) => {
    await askServer(`SELECT pg_terminate_backend(${pid})`)
  }
  return { pool, held, pids, cut, countThere }
}

test('a caller that waits for a connection never gets a broken one', async () => {
  const { pool, held, pids, cut } = await openHeldPool()
  const waiting = [pool.acquire(), pool.acquire()].map(async line => pidOf(await line))
  await cut(pids[0])
  await expect(held[0] && pidOf(held[0])).rejects.toBeDefined()
  held[0]?.release()
  held[1]?.release()
  held[2]?.release()
  const got = await Promise.all(waiting)
  expect(got).not.toContain(pids[0])
  await pool.close()
})

test('a restored connection serves waiting callers, even if nobody returns one', async () => {
  const { pool, held, pids, cut, countThere } = await openHeldPool()
  await cut(pids[0])
  await expect(held[0] && pidOf(held[0])).rejects.toBeDefined()
  const waiting = pool.acquire()
  held[0]?.release()
  const line = await waiting
  expect(pids).not.toContain(await pidOf(line))
  await vi.waitFor(async () => expect(await countThere()).toBe(4))
  await pool.close()
})

test('a caller waits for a new connection while the only existing one breaks', async () => {
  const client = toClientConfig(readPostgresUrl(testServer.url).server)
  // The first connection opens at once.
  const setUp = 'SELECT pg_sleep(CASE WHEN pg_try_advisory_lock(77002) THEN 0 ELSE 3 END)'
  const isThere = Promise.withResolvers<void>()
  const pool = openConnectionPool({ client, setUp, onOpen: isThere.resolve })
  await isThere.promise
  const first = await pool.acquire()
  await askServer(`SELECT pg_terminate_backend(${await pidOf(first)})`)
  await expect(pidOf(first)).rejects.toBeDefined()
  first.release()
  expect(await pidOf(await pool.acquire())).toBeGreaterThan(0)
  await pool.close()
})

test('a write that the server aborted because this thread was busy runs again', async () => {
  const store = await open(makeDatabase())
  const taken = Array.from({ length: 20 }, (_, at) => store.consumeOnce(`key ${at}`, Date.now() + 60_000))
  // Their transaction waits for its first answer, before which nothing is read.
  for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate)
  const end = performance.now() + 5_500
  while (performance.now() < end);
  expect(new Set(await Promise.all(taken))).toEqual(new Set([true]))
  await store.close()
})

test('a read whose connection the server ends before its answer runs again', async () => {
  const url = makeDatabase()
  const store = await open(url)
  const ours = `FROM pg_stat_activity WHERE application_name = 'postern ${schemaOf(url)}' AND wait_event_type = 'Lock'`
  await askServer(`BEGIN; LOCK TABLE "${schemaOf(url)}".tasks IN ACCESS EXCLUSIVE MODE`)
  try {
    const listed = store.listTasks({ owner: 'peer', limit: 3 })
    await expect.poll(async () => (await askServer(`SELECT 1 ${ours}`)).length).toBe(1)
    await askServer(`SELECT pg_terminate_backend(pid) ${ours}`)
    await askServer('ROLLBACK')
    expect(await listed).toEqual({ tasks: [], total: 0 })
  } finally {
    await askServer('ROLLBACK')
    await store.close()
  }
})
