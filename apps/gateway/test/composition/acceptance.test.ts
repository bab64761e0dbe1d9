import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import { plainTextOf } from '@postern/message'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { Gateways } from './gateways.ts'
import { openGateways } from './gateways.ts'

// This test takes one conversation through the whole gateway: a customer on the fediverse, a swarm whose agents hand over to each other, a refund that
// the customer allows, an agent on another host, and finally every format.

const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
let gateways: Gateways
let model: ModelServer

beforeAll(async () => {
  process.env.TILL = tillFile
  model = await openModelServer(({ body }) => {
    const { role, content } = body.messages.at(-1) ?? {}
    const lastText = String(content)
    if (/^I am triage\./m.test(String(body.messages[0]?.content))) return respondWithToolCall('navigate_to_refunds', {})
    if (role === 'tool') return replyWith('The money is on its way')
    if (lastText.includes('please')) return respondWithToolCall('refund', { order: '17' })
    return lastText.includes('stock') ? respondWithToolCall('navigate_to_stock', {}) : replyWith('Which order is it?')
  })
  const agentConfig = {
    use: 'swarm',
    default_agent: 'triage',
    model: { base_url: model.baseUrl, model: 'test-model' },
    members: {
      triage: { prompt: 'I am triage.', navigates_to: ['refunds'] },
      refunds: {
        prompt: 'I am refunds.',
        tools: '../agents/asking/till.ts',
        tool_policies: { refund: 'preview' },
        navigates_to: ['stock'],
      },
      stock: { address: '@two@b.test' },
    },
  }
  gateways = await openGateways({
    'a.test': { agents: { desk: agentConfig } },
    'b.test': { agents: { two: { use: '../agents/calling/courier.ts' } } },
  })
})
afterAll(async () => {
  process.env.TILL = ''
  await gateways.close()
  await model.close()
})

interface Transcript {
  readonly messages: readonly Record<string, unknown>[]
  readonly added: number
}

async function requestTranscript(query: Record<string, string>, body?: object): Promise<Transcript> {
  const headers = { authorization: `Bearer ${'x'.repeat(20)}` }
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${gateways.url('a.test')}/operator/api/transcript?${new URLSearchParams(query)}`, init)
  expect(response.status).toBe(200)
  return (await response.json()) as Transcript
}

async function waitForAnswer(text: string) {
  return eventually(async () => {
    const records = await gateways.records('a.test', 'desk')
    return records.find(({ response, deliveries }) => {
      const isSent = deliveries.length > 0 && deliveries.every(({ state }) => state === 'sent')
      return isSent && response !== null && plainTextOf(response.parts).includes(text)
    })
  })
}

test('a fediverse conversation passes a swarm, an approved refund and a remote agent, and every transcript format round-trips', async () => {
  const { simulation } = gateways
  const lampReply = await simulation.send({ via: 'activitypub', to: 'desk', text: 'My lamp is broken' })
  expect(lampReply.reply?.text).toContain('Which order is it?')

  const refundReply = await simulation.send({
    via: 'activitypub',
    to: 'desk',
    text: 'Number 17, please',
    thread: lampReply.thread,
  })
  expect(refundReply.reply?.text).toContain('Give 20.00 back for order 17?')
  const [, path = ''] =
    /https:\/\/a\.test(\/actions\/[\w-]{43})/.exec(JSON.stringify(simulation.fediverse.received)) ?? []
  const page = await fetch(gateways.url('a.test') + path)
  expect(await page.text()).toContain('Give 20.00 back for order 17?')
  const grant = () =>
    fetch(gateways.url('a.test') + path, { method: 'POST', body: new URLSearchParams({ decision: 'grant' }) })
  expect((await grant()).status).toBeLessThan(400)
  // A second click must not refund twice.
  await grant()
  const paidRecord = await waitForAnswer('The money is on its way')
  expect(paidRecord.message.policy_resolution).toMatchObject({ outcome: 'granted' })
  expect(paidRecord.message.received_via).toBe('activitypub')
  expect(readFileSync(tillFile, 'utf8')).toBe('begun 17\ndone 17\n')

  const nextMessage = {
    via: 'activitypub',
    to: 'desk',
    text: 'Is another one in stock?',
    thread: lampReply.thread,
  } as const
  const stockReply = await simulation.send(nextMessage)
  expect(stockReply.reply?.text).toContain('two@b.test heard desk@a.test by a2a at hop 1')

  const transcript = await requestTranscript({ thread: lampReply.id, format: 'jsonl' })
  const kinds = transcript.messages.map(({ kind }) => kind)
  for (const kind of ['text', 'tool_call', 'approval_required', 'tool_result']) expect(kinds).toContain(kind)
  for (const format of exchangeFormats) {
    const { messages } = await requestTranscript({ thread: lampReply.id, format })
    expect(messages.length, format).toBeGreaterThan(0)
    expect((await requestTranscript({ thread: lampReply.id, format }, { messages })).added, format).toBe(0)
  }
  expect(await requestTranscript({ thread: lampReply.id, format: 'jsonl' })).toEqual(transcript)
})
