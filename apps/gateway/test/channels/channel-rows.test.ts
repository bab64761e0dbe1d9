import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'

const token = 'token-of-ann-for-the-tests'
const owner = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`

let gateway: TestGateway

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
  gateway = await openTestGateway(() => ({ web: { enabled: true, auth } }))
})
afterAll(() => gateway.close())

type Entries = readonly { readonly kind: string }[]

async function readThread(id: string): Promise<Entries> {
  const query = new URLSearchParams({ thread: id, format: 'jsonl' })
  return (await gateway.requestOperator<{ messages: Entries }>(`/transcript?${query}`)).messages
}

/** Counts the messages, the deliveries and the refusals so far, and the entries of a conversation. */
async function takeStock(id: string) {
  const [messages, deliveries] = [await gateway.messages(), await gateway.deliveries()]
  const handledIds = messages.filter(({ state }) => state !== 'ignored').map(message => message.id)
  const { items: refusals } = await gateway.requestOperator<{ items: readonly object[] }>('/refusals')
  return {
    handledIds: handledIds,
    deliveries: deliveries.length,
    refused: refusals.length,
    entries: (await readThread(id)).length,
  }
}

async function postToInbox(activity: object): Promise<Response> {
  const body = Buffer.from(JSON.stringify(activity))
  const request = { method: 'POST' as const, url: `${gatewayOrigin}/inbox`, body }
  const headers = await gateway.simulation.fediverse.sign(request, 'alice@mastodon.test')
  return fetch(`${gateway.url()}/inbox`, { method: 'POST', headers, body })
}

describe('an agent’s own message that comes back (E-41)', () => {
  test('through the fediverse gets a silent acceptance, and no answer', async () => {
    const { id } = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'say it' })
    const create = gateway.simulation.fediverse.received.findLast(({ activity }) => activity.type === 'Create')
    const stockBefore = await takeStock(id)
    const response = await postToInbox(create?.activity ?? {})
    expect([response.status, await response.text()]).toEqual([202, ''])
    expect(await takeStock(id)).toEqual(stockBefore)
    // An id that only looks like one of the gateway's own is refused, and listed.
    const forgedActivity = { ...create?.activity, id: `${gatewayOrigin}/agents/echo/posts/${'0'.repeat(32)}/activity` }
    const refusal = await postToInbox(forgedActivity)
    expect([refusal.status, await refusal.json()]).toMatchObject([401, { code: 'signer_mismatch' }])
    expect(await takeStock(id)).toEqual({ ...stockBefore, refused: stockBefore.refused + 1 })
  })

  test('by mail gets a silent acceptance, and no answer', async () => {
    const { mail } = await gateway.simulation.mail.deliver({ to: 'echo@agents.test', subject: 'Say', text: 'it' })
    const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
    const stockBefore = await eventually(async () => {
      const stock = await takeStock(mail.messageId)
      return stock.entries === 2 && stock
    })
    const envelope = { from: 'alice@alice.test', to: ['echo@agents.test'] }
    const answer = await gateway.simulation.mail.sendSmtp({ ...mail, octets: reply.octets, envelope })
    expect(answer.code).toBe(250)
    expect(await takeStock(mail.messageId)).toEqual(stockBefore)
    expect((await gateway.messages())[0]).toMatchObject({
      state: 'ignored',
      flags: expect.arrayContaining(['own_mail']),
    })
  })
})

describe('an external message that arrives twice (E-42)', () => {
  test('through the fediverse takes effect once and gets one answer', async () => {
    const { id } = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'once' })
    const { message } = await gateway.readMessage(id)
    const stockBefore = await takeStock(id)
    const secondResponse = await postToInbox(message.raw as object)
    expect([secondResponse.status, await secondResponse.text()]).toEqual([202, ''])
    expect(await takeStock(id)).toEqual(stockBefore)
    expect((await gateway.readMessage(id)).duplicates).toBe(1)
  })

  test('by mail takes effect once and gets one answer', async () => {
    const { mail } = await gateway.simulation.mail.deliver({ to: 'echo@agents.test', subject: 'Once', text: 'once' })
    await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
    const stockBefore = await takeStock(mail.messageId)
    expect((await gateway.simulation.mail.sendSmtp(mail)).code).toBe(250)
    expect(await takeStock(mail.messageId)).toEqual(stockBefore)
    expect((await gateway.readMessage(mail.messageId)).duplicates).toBe(1)
    expect(gateway.simulation.mail.countArrivals(mail.messageId)).toBe(0)
  })
})

async function requestJson(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url()}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text }
}

const names = ['a/b', 'a:b', 'a', '../a', 'a/../b', 'a%2Fb', 'web:["echo","a"]', 'ä\u0000b'] as const

test('each location has its own messages, even if its name has odd characters (S-14)', async () => {
  const path = (name: string) => `/v1/store/${encodeURIComponent(name)}`
  for (const name of names) {
    const messages = [{ type: 'user_message', content: `in ${name}` }]
    expect((await requestJson('POST', `${path(name)}/messages`, { messages })).status).toBe(200)
  }
  for (const name of names) {
    const { text } = await requestJson('GET', `${path(name)}/conversation`)
    expect(JSON.parse(text)).toMatchObject({ messages: [{ content: `in ${name}` }] })
  }
  expect((await requestJson('DELETE', path('a/b'))).status).toBe(200)
  expect(JSON.parse((await requestJson('GET', `${path('a/b')}/conversation`)).text)).toEqual({ messages: [] })
  expect((await requestJson('GET', `${path('a%2Fb')}/conversation`)).text).toContain('in a%2Fb')
})

test('a thread whose name has path characters stays in its own location (W-32)', async () => {
  const threads = names.filter(name => !name.includes('\u0000'))
  for (const [index, threadId] of threads.entries()) {
    const messages = [{ id: `m${index}`, role: 'user', content: `said in ${threadId}` }]
    const runResponse = await requestJson('POST', '/api/v1/agent/runs', { threadId, runId: `run-${index}`, messages })
    expect(runResponse.text).toContain('RUN_FINISHED')
  }
  for (const threadId of threads) {
    const { text } = await requestJson('GET', `/api/v1/agent/history?${new URLSearchParams({ threadId })}`)
    const { messages } = JSON.parse(text) as { messages: readonly { content: string }[] }
    expect(messages.map(({ content }) => content)).toEqual([`said in ${threadId}`, expect.any(String)])
  }
  expect((await requestJson('DELETE', `/api/v1/agent/threads/${encodeURIComponent('../a')}`)).status).toBe(200)
  expect((await requestJson('GET', '/api/v1/agent/history?threadId=a')).status).toBe(200)
})

test('an import names calls without results and results without calls (E-33)', async () => {
  const query = new URLSearchParams({ owner, thread: 'copy:halves', format: 'swarm' })
  const toolCall = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: {} } })
  const common = { agentName: 'desk', mode: 'tool' }
  const messages = [
    { ...common, role: 'assistant', content: '', tool_calls: [toolCall('c1')] },
    { ...common, role: 'tool', content: 'found', tool_call_id: 'c1' },
    { ...common, role: 'assistant', content: '', tool_calls: [toolCall('c2')] },
    { ...common, role: 'tool', content: 'lost', tool_call_id: 'c3' },
  ]
  const response = await fetch(`${gateway.url()}/operator/api/transcript?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  })
  expect(await response.json()).toMatchObject({
    added: 4,
    findings: [
      { code: 'orphan_tool_call', message: 'a call without its result', index: 2 },
      { code: 'orphan_tool_result', message: 'a result without its call', index: 3 },
    ],
  })
  const transcript = await gateway.requestOperator<{ messages: readonly object[] }>(`/transcript?${query}`)
  expect(transcript.messages).toHaveLength(4)
})
