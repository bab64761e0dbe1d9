import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import { findEvents, newName, openChat, outcomeOf, runChat } from '../setup/operator-gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { annsToken, call as callTool, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'

// These tests check that one name in several credentials means several principals: a decision or a ban of one does not affect the others.

const annsKey = 'api-key-of-another-ann-for-the-tests'
const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
let swarm: SwarmGateway

beforeAll(async () => {
  process.env.TILL = tillFile
  swarm = await openSwarmGateway((_, lastText, { body }) => {
    if (body.messages.at(-1)?.role === 'tool') return replyWith(`The till says ${lastText}`)
    return callTool('refund', { order: /order (\w+)/.exec(lastText)?.[1] ?? '17' })
  })
  const describeKeys = (text: string) => [{ name: 'ann', sha256: hash('sha256', text) }]
  const shop = {
    use: 'openai',
    base_url: swarm.model.baseUrl,
    model: 'test-model',
    tools: '../agents/asking/till.ts',
    tool_policies: { refund: 'preview' },
  }
  const { simulation } = swarm.gateway
  await swarm.gateway.restart({
    agents: { shop },
    default_agent: 'shop',
    limits: { per_identity: 2 },
    a2a: {
      auth: {
        api_keys: describeKeys(annsKey),
        issuers: [{ ...simulation.a2a.issuerConfig, audience: `${gatewayOrigin}/a2a` }],
      },
    },
    web: { enabled: true, auth: { tokens: describeKeys(annsToken) } },
  })
})
afterAll(async () => {
  process.env.TILL = ''
  await swarm.close()
})

async function callShop(text: string, credential: Readonly<Record<string, string>>): Promise<string> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const response = await fetch(`${swarm.gateway.url()}/agents/shop/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...credential },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  const { result, error } = (await response.json()) as {
    result?: { task: { status: { state: string } } }
    error?: { message: string }
  }
  return result?.task.status.state ?? error?.message ?? ''
}

async function callAs(sub: string, text: string): Promise<string> {
  return callShop(text, { authorization: `Bearer ${await swarm.gateway.simulation.a2a.token({ sub })}` })
}

async function askInChat(text: string, payload?: object) {
  const chat = openChat(`${swarm.gateway.url()}/api/v1/agents/shop/runs`, annsToken)
  chat.addMessage({ id: newName('msg'), role: 'user', content: text })
  const askedEvents = await runChat(chat)
  const [interrupt] = outcomeOf(askedEvents).interrupts ?? []
  if (!interrupt || !payload) return outcomeOf(askedEvents)
  const events = await runChat(chat, [{ interruptId: interrupt.id, status: 'resolved', payload }])
  expect(findEvents(events, 'RUN_ERROR')).toEqual([])
  return outcomeOf(events)
}

test('a remembered approval of the chat token "ann" does not count for an API key "ann"', async () => {
  expect(await askInChat('order 1', { approved: true, remember: 'always' })).toMatchObject({ type: 'success' })
  expect(await askInChat('order 2')).toMatchObject({ type: 'success' })
  expect(readFileSync(tillFile, 'utf8')).toContain('done 2')
  expect(await callShop('order 3', { 'x-api-key': annsKey })).toBe('TASK_STATE_INPUT_REQUIRED')
  expect(readFileSync(tillFile, 'utf8')).not.toContain('3')
})

test('the evidence names the kind of credential that proves a caller', async () => {
  const pendingRecords = (await swarm.gateway.messages()).map(({ id }) => swarm.gateway.readMessage(id))
  const proofs = (await Promise.all(pendingRecords)).flatMap(({ message }) =>
    message?.sender.identities?.map(({ proof }) => proof),
  )
  expect(proofs).toContainEqual(expect.objectContaining({ type: 'transport', credential: 'api_key' }))
  expect(proofs).toContainEqual(expect.objectContaining({ type: 'transport', credential: 'chat_token' }))
})

test('three spellings of a name count as three people: each has a separate limit, and the operator forgets each separately', async () => {
  const host = new URL(swarm.gateway.simulation.a2a.issuerConfig.issuer).hostname
  const subjects = ['ann', `ann@${host}`, `ANN@${host}`]
  for (const sub of subjects) {
    for (const order of ['s1', 's2']) expect(await callAs(sub, `order ${order}`)).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await callAs(sub, 'order s3')).toContain('too many from this sender')
  }
  const listSenders = async () =>
    (await swarm.gateway.messages()).filter(({ sender }) => sender.endsWith(`@${host}`)).map(({ sender }) => sender)
  expect(new Set((await listSenders()).map(sender => sender.toLowerCase())).size).toBe(3)
  const forgetResponse = await fetch(`${swarm.gateway.url()}/operator/api/people/forget`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ address: `@ann@${host}`, via: 'a2a' }),
  })
  expect(await forgetResponse.json()).toMatchObject({ messages: 2 })
  expect(new Set(await listSenders())).toEqual(
    new Set([expect.stringMatching(/^@ann-.+~/), expect.stringMatching(/^@ann-.+~/)]),
  )
})
