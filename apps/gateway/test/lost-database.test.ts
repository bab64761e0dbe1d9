import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { eventually, openTestHouse, origin } from './house.ts'

async function openUsedHouse() {
  const house = await openTestHouse()
  const send = async () => (await house.world.a2a.deliver({ url: `${origin}/agents/echo/a2a`, text: 'hello' })).status
  const look = async () => (await fetch(`${house.url()}/readyz`)).status
  expect([await send(), await look()]).toEqual([200, 200])
  return { house, send, look, path: join(house.dataDir, 'postern.db') }
}

test('a gateway whose database is deleted is not ready, acknowledges nothing more, and lives', async () => {
  const { house, send, look, path } = await openUsedHouse()
  rmSync(path)
  expect([await look(), await send()]).toEqual([503, 503])
  expect((await house.world.mail.deliver({ to: 'echo@agents.test', text: 'hello' })).answer).toBe(451)
  expect((await fetch(`${house.url()}/healthz`)).status).toBe(200)
  await house.close()
}, 60_000)

test('a gateway whose database is moved away and back is ready again', async () => {
  const { house, send, look, path } = await openUsedHouse()
  renameSync(path, `${path}.aside`)
  writeFileSync(path, '')
  expect([await look(), await send()]).toEqual([503, 503])
  renameSync(`${path}.aside`, path)
  await eventually(async () => (await look()) === 200)
  expect(await send()).toBe(200)
  await house.close()
}, 60_000)

test('a look at /readyz writes a real row and leaves none', async () => {
  const { house, look, path } = await openUsedHouse()
  const walSize = () => readFileSync(`${path}-wal`).byteLength
  const before = walSize()
  expect(await look()).toBe(200)
  expect(walSize()).toBeGreaterThan(before)
  const db = new DatabaseSync(path, { readOnly: true })
  expect(db.prepare("SELECT count(*) AS rows FROM blobs WHERE digest LIKE 'check %'").get()).toEqual({ rows: 0 })
  db.close()
  await house.close()
}, 60_000)
