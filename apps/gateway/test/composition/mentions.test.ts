import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postern/testing/free-port'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/read-config.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Gateways } from './gateways.ts'
import { openGateways, settle } from './gateways.ts'

const parrot = { use: '../agents/reporting/parrot.ts' }
let gateways: Gateways

beforeAll(async () => {
  gateways = await openGateways({
    'a.test': { agents: { one: parrot, two: { use: 'builtin:echo' } }, limits: { loop: { max_mentions: 2 } } },
    'b.test': { agents: { far: { use: 'builtin:echo' } } },
  })
})
afterAll(() => gateways.close())

/** Returns everything that left a gateway for one destination, as the operator sees it. */
async function wiresTo(host: string, to: string): Promise<readonly Record<string, unknown>[]> {
  const deliveries = await gateways.gatewayOf(host).store.listDeliveries({ limit: 100 })
  return deliveries.filter(delivery => delivery.to.includes(to)).map(({ wire }) => wire as Record<string, unknown>)
}

// The agent repeats every name of the text, and mentions the names after "wake". A name that it only repeats reaches no agent on any
// channel.
const text =
  'Please tell @guest@b.test, wake @two@a.test and wake @far@b.test and wake @one@a.test and wake @third@b.test'

test('all receive both parts of an answer, and mentioned agents wake, local or remote (MN-8.1 addressing)', async () => {
  const result = await gateways.simulation.send({ via: 'activitypub', to: 'one', text })
  expect(result.status).toBe('answered')
  const { object } = (result.reply as { readonly raw: unknown }).raw as {
    object: Record<string, unknown> & { tag: { href: string; name: string }[] }
  }
  const [twoActor, farActor] = ['https://a.test/agents/two', 'https://b.test/agents/far']
  expect(object.tag.map(({ name }) => name).slice(1)).toEqual(['@two@a.test', '@far@b.test'])
  expect([...(object.to as string[]), ...(object.cc as string[])]).toEqual(expect.arrayContaining([twoActor, farActor]))
  // Mentions that are already in the text become links there. The third one would exceed the limit, and stays text.
  expect(object.content).toContain(
    `wake <span class="h-card"><a href="${twoActor}" class="u-url mention">@<span>two@a.test</span></a></span>`,
  )
  expect(object.content).toContain('wake @third@b.test')
  expect(object.content).toContain('tell @guest@b.test')
  await settle(gateways, ['a.test', 'b.test'])
  for (const [host, agent] of [
    ['a.test', 'two'],
    ['b.test', 'far'],
  ] as const) {
    const [woken] = await gateways.records(host, agent)
    expect(woken?.message).toMatchObject({
      received_via: 'activitypub',
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
      },
      sender: { address: '@one@a.test', verified: true, auth_method: 'ap-http-signature' },
    })
    expect(woken?.proofs.find(({ kind }) => kind === 'http-signature')?.verdict).toBe('pass')
  }
})

test('a mail reply addresses mentioned agents by To and Cc, and local ones get a turn in its thread (MN-8.1 recipient-field)', async () => {
  const { mail } = await gateways.simulation.mail.deliver({ from: 'Alice <alice@alice.test>', to: 'one@a.test', text })
  const reply = await gateways.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.headers.get('to')?.[0]).toBe('Alice <alice@alice.test>, far@b.test')
  expect(reply.headers.get('cc')).toEqual(['two@a.test'])
  await settle(gateways, ['a.test', 'b.test'])
  const [localRecord] = (await gateways.records('a.test', 'two')).filter(
    ({ message }) => message.received_via === 'email',
  )
  expect(localRecord).toMatchObject({
    state: 'answered',
    flags: ['sibling', 'from_agent'],
    message: {
      sender: { address: '@one@a.test' },
      recipient_capabilities: {
        mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] },
        agent_chain: { hop: 1, max_hops: 5, is_final: false },
      },
    },
  })
  const [remoteRecord] = (await gateways.records('b.test', 'far')).filter(
    ({ message }) => message.received_via === 'email',
  )
  expect(remoteRecord).toMatchObject({
    message: { sender: { verified: true }, recipient_capabilities: { agent_chain: { hop: 1 } } },
  })
  // The other agent of the gateway answers the people, in their thread.
  const answers = gateways.simulation.mail.received.filter(({ envelope }) => envelope.to.includes('alice@alice.test'))
  expect(answers.map(({ headers }) => headers.get('from')?.[0]).toSorted()).toEqual([
    'Echo <two@a.test>',
    'one <one@a.test>',
  ])
  expect(answers.every(({ references }) => references.includes(mail.messageId))).toBe(true)
  expect(await wiresTo('a.test', 'two@a.test')).not.toEqual([])
  expect(gateways.simulation.mail.received.filter(({ envelope }) => envelope.to.includes('two@a.test'))).toEqual([])
})

test('each part of the joint answer over A2A names its agent (MN-8.1 none)', async () => {
  const parts = await gateways.askAgent('a.test', 'one', text)
  expect(parts.filter(part => /^@\S+:$/.test(part))).toEqual(['@two@a.test:', '@far@b.test:'])
  expect(parts[0]).toContain('I heard: Please tell @guest@b.test')
})

test('local agents reach each other without configuration when the gateway cannot resolve its own host', async () => {
  const data = mkdtempSync(join(tmpdir(), 'postern-production-'))
  const port = await findFreePort()
  const key = 'a-key-of-the-tests'
  const config = parseConfig({
    origin: 'https://unreachable.example',
    listen: { port },
    data,
    operator_token: 'operator-token-of-the-tests',
    agents: { one: parrot, two: { use: 'builtin:echo' } },
    a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', key) }] } },
    log: { level: 'silent' },
  })
  const log = createLog({ level: 'silent', readable: false })
  const gateway = await openGateway(config, {
    baseDir: import.meta.dirname,
    log,
    operatorToken: 'x'.repeat(20),
  })
  await gateway.start()
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'wake @two@unreachable.example' }] }
  const response = await fetch(`http://127.0.0.1:${port}/agents/one/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': key },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  const reportedText = JSON.stringify(await response.json())
  expect(reportedText).toContain('@two@unreachable.example:')
  expect(reportedText).toContain('**Verified:** yes')
  expect(reportedText).toContain('@one@unreachable.example')
  await gateway.stop()
  rmSync(data, { recursive: true })
})
