import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postern/testing/free-port'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/read-config.ts'
import type { Gateway } from '../../src/gateway.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'

const hosts = ['a.test', 'b.test'] as const
const apiKey = 'the-key-of-the-tests'
const log = createLog({ level: 'silent', readable: false })
const gateways: Gateway[] = []
const directories: string[] = []
const ports: Record<string, number> = {}

/** Returns the configuration of a gateway that accepts tokens for its own audience, signed with the other one's published keys. */
function describeGateway(host: (typeof hosts)[number], otherHost: string) {
  const data = mkdtempSync(join(tmpdir(), 'postern-pair-'))
  directories.push(data)
  return parseConfig({
    origin: `https://${host}`,
    listen: { port: ports[host] },
    data,
    dev: true,
    operator_token: 'operator-token-of-the-tests',
    agents: {
      relay: { use: '../agents/calling/relay.ts' },
      front: { use: 'a2a', address: '@relay@b.test' },
    },
    a2a: {
      auth: {
        issuers: [
          {
            issuer: `https://${otherHost}`,
            jwks: `https://${otherHost}/.well-known/jwks.json`,
            audience: `https://${host}`,
          },
        ],
        api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }],
      },
      limits: { max_hops: 3 },
    },
    // Loopback leads only to the other gateway, so that neither gateway can reach itself over the network.
    network: { loopback: { [otherHost]: ports[otherHost] ?? 0 } },
    log: { level: 'silent' },
  })
}

beforeAll(async () => {
  for (const host of hosts) ports[host] = await findFreePort()
  for (const [host, otherHost] of [hosts, hosts.toReversed() as unknown as typeof hosts]) {
    const config = describeGateway(host, otherHost)
    const gateway = await openGateway(config, { baseDir: import.meta.dirname, log, operatorToken: 'x'.repeat(20) })
    await gateway.start()
    gateways.push(gateway)
  }
})
afterAll(async () => {
  await Promise.all(gateways.map(gateway => gateway.stop()))
  for (const directory of directories) rmSync(directory, { recursive: true })
})

/** Sends a text to an agent at `a.test` with an API key, and returns the lines of the answer. */
async function sendMessage(text: string, agent = 'relay', overrides: object = {}) {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...overrides }
  const response = await fetch(`http://127.0.0.1:${ports['a.test']}/agents/${agent}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  const { result } = (await response.json()) as {
    result: { task: { artifacts: { parts: { text: string }[] }[] } }
  }
  return result.task.artifacts
    .flatMap(({ parts }) => parts)
    .map(part => part.text)
    .join('')
    .split('\n')
}

const tester = `@tester~${hash('sha256', 'https://a.test api_key tester').slice(0, 12)}@a.test`
const firstHops = [
  `@relay@a.test heard ${tester} by a2a-oauth at hop 0`,
  'signed @relay@b.test heard @relay@a.test by a2a-jwt at hop 1',
  'signed @relay@a.test heard @relay@b.test by a2a-jwt at hop 2',
  'signed @relay@b.test heard @relay@a.test by a2a-jwt at hop 3',
]

test('agents of two gateways call each other over three hops, with signed cards and tokens of their gateways', async () => {
  expect(await sendMessage('@relay@b.test @relay@a.test @relay@b.test')).toEqual(firstHops)
})

test('the gateway refuses the fourth hop (A2A-C10)', async () => {
  expect(await sendMessage('@relay@b.test @relay@a.test @relay@b.test @relay@a.test')).toEqual([
    ...firstHops,
    'Rejection: Cannot call agent: agent chain is longer than 3 hops',
  ])
})

test('the gateway refuses an incoming call at hop 4, even if the call claims a higher limit (A2A-C10)', async () => {
  const metadata = { mentionable: { agent_chain: { hop: 4, max_hops: 9 } } }
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'x' }], metadata }
  const response = await fetch(`http://127.0.0.1:${ports['a.test']}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  expect([response.status, ((await response.json()) as { error: { message: string } }).error.message]).toEqual([
    403,
    'Cannot take message: agent chain is longer than 3 hops',
  ])
})

test('the caller’s thread has the delegation to a worker on another host and its result, in one turn (S-31)', async () => {
  await sendMessage('@relay@b.test end')
  const operate = async (path: string) => {
    const headers = { authorization: `Bearer ${'x'.repeat(20)}` }
    return (await fetch(`http://127.0.0.1:${ports['a.test']}/operator/api${path}`, { headers })).json()
  }
  const { items: messages } = (await operate('/messages?limit=1')) as { items: { message: number }[] }
  const transcript = await operate(`/transcript?format=store&thread=${encodeURIComponent(`#${messages[0]?.message}`)}`)
  const turn_id = `store-${messages[0]?.message}`
  expect(transcript).toMatchObject({
    messages: [
      { type: 'user_message', turn_id },
      { type: 'delegation', worker: '@relay@b.test', task: 'end', agent_key: 'relay', turn_id },
      { type: 'observation', content: firstHops[1]?.replace('signed ', ''), agent_key: 'relay', turn_id },
      { type: 'assistant_message', agent_key: 'relay', turn_id },
    ],
  })
})

test('agents of one gateway call each other with the same rules', async () => {
  expect(await sendMessage('@relay@a.test')).toEqual([
    firstHops[0],
    'signed @relay@a.test heard @relay@a.test by a2a-jwt at hop 1',
  ])
})

test('an agent on another host can answer here under a name of ours', async () => {
  expect(await sendMessage('end', 'front')).toEqual(['@relay@b.test heard @front@a.test by a2a-jwt at hop 1'])
})
