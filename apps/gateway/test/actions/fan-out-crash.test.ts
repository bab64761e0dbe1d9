import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog } from '@postern/message'
import type { Store } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { findFreePort } from '@postern/testing/free-port'
import { isLongRun } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeTestConfig, operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import { createGatewayProcess } from '../setup/gateway-process.ts'

const followers = 1_000
const hosts = Array.from({ length: 40 }, (_, index) => `f${index}.test`)

let simulation: Simulation
let gateway: GatewayProcess
let url: string
let directory: string

/** The activities that each inbox received, in order. */
const receivedTexts = new Map<string, string[]>()
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const inbox = `https://${request.headers.host}${request.url}`
  const { id } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
  receivedTexts.set(inbox, [...(receivedTexts.get(inbox) ?? []), id])
  response.writeHead(202).end()
})

async function admitFollowers(store: Store): Promise<void> {
  const names = Array.from({ length: followers }, (_, index) => `https://${hosts[index % hosts.length]}/users/${index}`)
  await Promise.all(
    names.map(peer =>
      store.admit(
        {
          agent: 'echo',
          message: {
            id: `${peer}#follow`,
            thread_source: peer,
            sender: { address: '@~unconfirmed@f.test', auth_method: 'none', verified: false },
            recipient: '@echo@agents.test',
            parts: [],
            recipient_capabilities: { mention_relay: { kind: 'none' } },
            received_via: 'activitypub',
            received_at: '2026-01-01T00:00:00.000Z',
            kind: 'follow',
          },
          duplicateKey: peer,
          thread: { scope: peer, references: [] },
          aliases: [],
          proofs: [],
          raw: { bytes: Buffer.from('{}'), form: 'json' },
          target: null,
          disposition: 'keep',
          effects: [{ kind: 'relate', relation: 'follower', peer, target: { inbox: `${peer}/inbox` } }],
        },
        'test',
      ),
    ),
  )
}

beforeAll(async () => {
  simulation = await openSimulation()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const sink = (server.address() as AddressInfo).port
  directory = mkdtempSync(join(tmpdir(), 'postern-fan-out-'))
  const port = await findFreePort()
  const { loopback } = simulation.network
  const config = describeTestConfig(simulation, directory, {
    listen: { port },
    log: { level: 'error' },
    network: { loopback: { ...loopback, ...Object.fromEntries(hosts.map(host => [host, sink])) } },
  })
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(config))
  gateway = createGatewayProcess(configPath)
  url = `http://127.0.0.1:${port}`
  await gateway.start()
  await gateway.stop()
  const file = readdirSync(directory).find(name => /\.(db|sqlite)$/.test(name)) ?? ''
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(directory, file),
    now: Date.now,
    log: noLog,
  })
  await admitFollowers(store)
  await store.close()
  await gateway.start()
}, 60_000)
afterAll(async () => {
  await gateway.kill()
  await simulation.close()
  server.closeAllConnections()
  server.close()
})

async function performActions(acts: readonly unknown[]): Promise<string> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/operator/api/agents/echo/acts`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ acts }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return (JSON.parse(text) as { done: { id: string }[] }).done[0]?.id ?? ''
}

/** Counts the inboxes that received an activity whose id contains `part`. */
function countReached(part: string): number {
  return [...receivedTexts.values()].filter(ids => ids.some(id => id.includes(part))).length
}

/** The number of deliveries that may be in flight at once, or be answered and not recorded yet. */
const maxInFlight = 128

test('after a kill, a broadcast still reaches all thousand followers and repeats only deliveries in flight', {
  timeout: 180_000,
}, async () => {
  const postId = await performActions([
    { act: 'post', parts: [{ kind: 'text', mime: 'text/plain', content: 'to all' }] },
  ])
  const kills = isLongRun ? [50, 300, 650] : [300]
  for (const reached of kills) {
    await vi.waitFor(() => expect(countReached('/activity')).toBeGreaterThan(reached), { timeout: 60_000, interval: 5 })
    await gateway.kill()
    await gateway.start()
  }
  // The edit comes early enough that the post is still being delivered.
  await performActions([
    { act: 'edit', response: postId, parts: [{ kind: 'text', mime: 'text/plain', content: 'to all of you' }] },
  ])
  await vi.waitFor(() => expect(countReached('/updates/')).toBe(followers), { timeout: 60_000, interval: 50 })
  expect(receivedTexts.size).toBe(followers)
  const copies = [...receivedTexts.values()].map(ids => ids.filter(id => id.endsWith('/activity')).length)
  expect(Math.min(...copies)).toBe(1)
  expect(copies.filter(count => count > 1).length).toBeLessThanOrEqual(kills.length * maxInFlight)
  const isInOrder = (ids: readonly string[]) =>
    ids.findLastIndex(id => id.endsWith('/activity')) < ids.findIndex(id => id.includes('/updates/'))
  expect([...receivedTexts.values()].every(isInOrder)).toBe(true)
})
