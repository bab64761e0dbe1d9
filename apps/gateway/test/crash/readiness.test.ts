import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { lockFile } from './locked-file.ts'

test.concurrent('a gateway with a locked database file is alive, not ready, tells senders to retry, and recovers', async () => {
  const gateway = await openTestGateway()
  const fetchStatus = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${gateway.url()}${path}`, init)
    return { status: response.status, retry: response.headers.get('retry-after'), text: await response.text() }
  }
  const sendMessage = async (messageId: string) =>
    fetchStatus('/a2a', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        authorization: `Bearer ${await gateway.simulation.a2a.token()}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId, role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
      }),
    })
  // With its issuer's keys in memory, a token needs no request to a system that is blocked along with the file.
  expect(await sendMessage('m0')).toMatchObject({ status: 200 })
  const otherDatabase = new DatabaseSync(join(gateway.dataDir, 'postern.db'))
  otherDatabase.exec('BEGIN IMMEDIATE')
  expect(await fetchStatus('/readyz')).toEqual({ status: 503, retry: '5', text: '{"status":"not ready"}' })
  expect(await fetchStatus('/healthz')).toMatchObject({ status: 200 })
  const refusal = await sendMessage('m1')
  expect(refusal).toMatchObject({ status: 503, retry: '5' })
  expect(refusal.text).toContain('Cannot store: the database does not take writes now')
  otherDatabase.exec('ROLLBACK')
  otherDatabase.close()
  expect(await fetchStatus('/readyz')).toMatchObject({ status: 200 })
  expect(await sendMessage('m1')).toMatchObject({ status: 200 })
  await gateway.close()
}, 60_000)

test.concurrent.each(['IMMEDIATE', 'EXCLUSIVE'] as const)(
  'while another process locks the file for ten seconds (BEGIN %s), the gateway is alive, refuses ActivityPub, A2A and mail, and then recovers',
  async mode => {
    const gateway = await openTestGateway()
    const { fediverse, a2a, mail } = gateway.simulation
    const endpoints: Readonly<Record<string, (text: string) => Promise<number>>> = {
      activitypub: async text => (await fediverse.deliver({ to: '@echo@agents.test', text })).status,
      a2a: async text => (await a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text })).status,
      email: async text => (await mail.deliver({ to: 'echo@agents.test', text })).answer,
    }
    const sendAll = async (text: string) =>
      Object.fromEntries(
        await Promise.all(Object.entries(endpoints).map(async ([via, send]) => [via, await send(text)])),
      )
    const acceptedStatuses = { activitypub: 202, a2a: 200, email: 250 }
    expect(await sendAll('before')).toEqual(acceptedStatuses)
    const unlock = await lockFile(join(gateway.dataDir, 'postern.db'), mode)
    const rejectedSends = sendAll('meanwhile')
    const waits: number[] = []
    const deadline = performance.now() + 10_000
    while (performance.now() < deadline) {
      const requestedAt = performance.now()
      expect((await fetch(`${gateway.url()}/healthz`)).status).toBe(200)
      waits.push(performance.now() - requestedAt)
      await delay(50)
    }
    // A wait within SQLite would last five seconds each time; a busy machine is occasionally late.
    expect(waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(4_500)
    expect((await fetch(`${gateway.url()}/readyz`)).status).toBe(503)
    expect(await rejectedSends).toEqual({ activitypub: 503, a2a: 503, email: 451 })
    await unlock()
    await eventually(async () => (await fetch(`${gateway.url()}/readyz`)).status === 200)
    expect(await sendAll('after')).toEqual(acceptedStatuses)
    await gateway.close()
  },
  120_000,
)

test.concurrent('a short lock by another process refuses no message', async () => {
  const gateway = await openTestGateway()
  const unlock = await lockFile(join(gateway.dataDir, 'postern.db'), 'IMMEDIATE')
  const pendingReceipt = gateway.simulation.a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: 'hello' })
  await delay(300)
  await unlock()
  expect(await pendingReceipt).toMatchObject({ status: 200 })
  await gateway.close()
}, 60_000)

test.concurrent('a gateway commits an answer soon after another process unlocks the file, and calls the agent once', async () => {
  const gateway = await openTestGateway(() => ({
    agents: { gated: { use: join(import.meta.dirname, '../agents/waiting/gated.ts') } },
  }))
  const folder = mkdtempSync(join(tmpdir(), 'postern-gated-'))
  const receipt = await gateway.simulation.fediverse.deliver({ to: '@gated@agents.test', text: `wait at ${folder}` })
  expect(receipt.status).toBe(202)
  await eventually(async () => existsSync(join(folder, 'calls')))
  const unlock = await lockFile(join(gateway.dataDir, 'postern.db'), 'EXCLUSIVE')
  writeFileSync(join(folder, 'go'), '')
  // This is longer than a write waits by itself.
  await delay(8_000)
  await unlock()
  const startedAt = performance.now()
  const isDelivered = async () => (await gateway.deliveries()).some(({ state }) => state === 'sent')
  await eventually(isDelivered)
  // A lease lasts a minute.
  expect(performance.now() - startedAt).toBeLessThan(50_000)
  expect(readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')).toHaveLength(1)
  await gateway.close()
}, 120_000)
