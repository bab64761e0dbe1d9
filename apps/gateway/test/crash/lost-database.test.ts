import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

async function openUsedGateway() {
  const gateway = await openTestGateway()
  const send = async () =>
    (await gateway.simulation.a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: 'hello' })).status
  const probe = async () => (await fetch(`${gateway.url()}/readyz`)).status
  expect([await send(), await probe()]).toEqual([200, 200])
  return { gateway, send, probe, path: join(gateway.dataDir, 'postern.db') }
}

test('a gateway without its database file is not ready, acknowledges no messages, and keeps running', async () => {
  const { gateway, send, probe, path } = await openUsedGateway()
  rmSync(path)
  expect([await probe(), await send()]).toEqual([503, 503])
  expect((await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello' })).answer).toBe(451)
  expect((await fetch(`${gateway.url()}/healthz`)).status).toBe(200)
  await gateway.close()
}, 60_000)

test('a gateway is ready again when its database file is back', async () => {
  const { gateway, send, probe, path } = await openUsedGateway()
  renameSync(path, `${path}.aside`)
  writeFileSync(path, '')
  expect([await probe(), await send()]).toEqual([503, 503])
  renameSync(`${path}.aside`, path)
  await eventually(async () => (await probe()) === 200)
  expect(await send()).toBe(200)
  await gateway.close()
}, 60_000)

test('a request to /readyz writes and deletes a row', async () => {
  const { gateway, probe, path } = await openUsedGateway()
  const walSize = () => readFileSync(`${path}-wal`).byteLength
  const sizeBefore = walSize()
  expect(await probe()).toBe(200)
  expect(walSize()).toBeGreaterThan(sizeBefore)
  const db = new DatabaseSync(path, { readOnly: true })
  expect(db.prepare("SELECT count(*) AS rows FROM blobs WHERE digest LIKE 'check %'").get()).toEqual({ rows: 0 })
  db.close()
  await gateway.close()
}, 60_000)
