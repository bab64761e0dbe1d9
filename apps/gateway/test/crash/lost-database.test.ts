import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

async function openGatewayWithMessage() {
  const gateway = await openTestGateway()
  const sendMessage = async () =>
    (await gateway.simulation.a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: 'hello' })).status
  const fetchReadiness = async () => (await fetch(`${gateway.url()}/readyz`)).status
  expect([await sendMessage(), await fetchReadiness()]).toEqual([200, 200])
  return {
    gateway,
    sendMessage: sendMessage,
    fetchReadiness: fetchReadiness,
    databasePath: join(gateway.dataDir, 'postern.db'),
  }
}

test('a gateway without its database file is not ready, acknowledges no messages, and keeps running', async () => {
  const { gateway, sendMessage, fetchReadiness, databasePath } = await openGatewayWithMessage()
  rmSync(databasePath)
  expect([await fetchReadiness(), await sendMessage()]).toEqual([503, 503])
  expect((await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello' })).answer).toBe(451)
  expect((await fetch(`${gateway.url()}/healthz`)).status).toBe(200)
  await gateway.close()
}, 60_000)

test('a gateway is ready again when its database file is back', async () => {
  const { gateway, sendMessage, fetchReadiness, databasePath } = await openGatewayWithMessage()
  renameSync(databasePath, `${databasePath}.aside`)
  writeFileSync(databasePath, '')
  expect([await fetchReadiness(), await sendMessage()]).toEqual([503, 503])
  renameSync(`${databasePath}.aside`, databasePath)
  await eventually(async () => (await fetchReadiness()) === 200)
  expect(await sendMessage()).toBe(200)
  await gateway.close()
}, 60_000)

test('a request to /readyz writes and deletes a row', async () => {
  const { gateway, fetchReadiness, databasePath } = await openGatewayWithMessage()
  const walSize = () => readFileSync(`${databasePath}-wal`).byteLength
  const sizeBefore = walSize()
  expect(await fetchReadiness()).toBe(200)
  expect(walSize()).toBeGreaterThan(sizeBefore)
  const db = new DatabaseSync(databasePath, { readOnly: true })
  expect(db.prepare("SELECT count(*) AS rows FROM blobs WHERE digest LIKE 'check %'").get()).toEqual({ rows: 0 })
  db.close()
  await gateway.close()
}, 60_000)
