import { expect, test, vi } from 'vitest'
import type { HeldLine } from '../../src/postgres/connection/pool.ts'
import { openLinePool } from '../../src/postgres/connection/pool.ts'
import { toClientConfig } from '../../src/postgres/server/address.ts'
import { readPostgresUrl } from '../../src/postgres/server/settings.ts'
import { askServer, testServer } from './test-server.ts'

const ownPid = { name: 'own', text: 'SELECT pg_backend_pid() AS pid' }
const pidOf = async (line: HeldLine) =>
  Number((await line.run([{ statement: ownPid, values: [] }], true))[0]?.rows[0]?.pid)

/** All of its connections are held. */
async function openHeldPool() {
  const name = `pool ${Math.random()}`
  const client = { ...toClientConfig(readPostgresUrl(testServer.url).server), application_name: name }
  const pool = openLinePool({ client, setUp: 'SELECT 1' })
  const held = await Promise.all(Array.from({ length: 4 }, pool.hold))
  const pids = await Promise.all(held.map(pidOf))
  const countThere = async () =>
    (await askServer('SELECT 1 FROM pg_stat_activity WHERE application_name = $1', 'public', [name])).length
  const cut = async (pid: number | undefined) => {
    await askServer(`SELECT pg_terminate_backend(${pid})`)
  }
  return { pool, held, pids, cut, countThere }
}

test('whoever waits for a connection gets one that is there, not one that broke', async () => {
  const { pool, held, pids, cut } = await openHeldPool()
  const waiting = [pool.hold(), pool.hold()].map(async line => pidOf(await line))
  await cut(pids[0])
  await expect(held[0] && pidOf(held[0])).rejects.toBeDefined()
  held[0]?.release()
  held[1]?.release()
  held[2]?.release()
  const got = await Promise.all(waiting)
  expect(got).not.toContain(pids[0])
  await pool.close()
})

test('a connection that comes back serves whoever waits, though nobody gives one back', async () => {
  const { pool, held, pids, cut, countThere } = await openHeldPool()
  await cut(pids[0])
  await expect(held[0] && pidOf(held[0])).rejects.toBeDefined()
  const waiting = pool.hold()
  held[0]?.release()
  const line = await waiting
  expect(pids).not.toContain(await pidOf(line))
  await vi.waitFor(async () => expect(await countThere()).toBe(4))
  await pool.close()
})
