import type { BaseEvent, Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import type { ModelReply, ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import { formatRecord } from '@postern/operator/views'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import { lastOf } from '../setup/swarm-gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import {
  checkEventStream,
  openWebGateway,
  parseEvents,
  readEvents,
  uniqueName,
  withoutWarnings,
} from '../setup/web-gateway.ts'

// These tests follow the costs of an answer from end to end: model servers on loopback, the real client, every channel.

const cost = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 64 },
}
const paid = ({ pieces = [] }: ModelReply): ModelReply => {
  const text = `data: ${JSON.stringify({ choices: [], usage: cost })}\n\n`
  return { pieces: [...pieces.slice(0, -1), text, 'data: [DONE]\n\n'] }
}
const [singleUsage, doubleUsage] = [1, 2].map(times => ({
  model: 'blend-7',
  inputTokens: 100 * times,
  cachedInputTokens: 64 * times,
  outputTokens: 20 * times,
  totalTokens: 120 * times,
}))
const usage = { model: 'blend-7', input_tokens: 200, cached_input_tokens: 128, output_tokens: 40, total_tokens: 240 }

let web: WebGateway
let model: ModelServer

beforeAll(async () => {
  model = await openModelServer(request => {
    const lastText = lastOf(request)
    const isTold = request.body.messages.at(-1)?.role === 'tool'
    if (!isTold)
      return lastText.includes('plainly')
        ? replyWith('Plainly.')
        : paid(respondWithToolCall('look_up', { order: '17' }))
    const query = JSON.stringify(request.body.messages)
    if (query.includes('break down')) return { status: 404, body: {} }
    if (query.includes('hang on')) return { pieces: replyWith('Hanging').pieces?.slice(0, -2) ?? [], hangs: true }
    return paid(replyWith('It is 20.00.'))
  })
  const modelConfig = { base_url: model.baseUrl, model: 'blend-7' }
  const agents = {
    chat: { use: 'openai', ...modelConfig, tools: '../agents/asking/till.ts' },
    crew: {
      use: 'swarm',
      default_agent: 'till',
      model: modelConfig,
      members: { till: { prompt: 'I am till.', tools: '../agents/asking/till.ts' } },
    },
    spender: { use: '../agents/chat/spender.ts' },
  }
  web = await openWebGateway({}, { agents, default_agent: 'chat' })
})
afterAll(async () => {
  await web.close()
  await model.close()
})

const runOf = async (agent: string, content: string, threadId = uniqueName('thread')) => {
  const body = { threadId, runId: uniqueName('run'), messages: [{ id: uniqueName('msg'), role: 'user', content }] }
  return readEvents(await web.requestAs(`/api/v1/agents/${agent}/runs`, { method: 'POST', body: JSON.stringify(body) }))
}
const metadataOf = (message: Message | undefined) => (message as { metadata?: JsonAnswer } | undefined)?.metadata

describe('the usage of a run', () => {
  test('follows at its end, summed over its rounds, with its step and with its message in the history', async () => {
    const threadId = uniqueName('thread')
    const events = await web.runChat('order 17', { threadId })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' }, usage: [doubleUsage] })
    const steps = events.filter(({ type }) => type === 'STEP_FINISHED') as unknown as { metadata: JsonAnswer }[]
    expect(steps.at(-1)?.metadata).toMatchObject({ stage: 'execution', usage: [doubleUsage] })
    const history = await web.readHistory(threadId)
    expect(history.map(({ metadata }) => metadata.usage)).toEqual([undefined, [doubleUsage]])
  })

  test('reaches a returning client, and does not count for the run that returns it', async () => {
    const threadId = uniqueName('thread')
    await web.runChat('order 17', { threadId })
    const headers = { authorization: 'Bearer token-of-ann-for-the-tests' }
    const client = new HttpAgent({ url: `${web.gateway.url()}/api/v1/agent/runs`, headers, threadId })
    const events: BaseEvent[] = []
    const onEvent = ({ event }: { readonly event: BaseEvent }) => void events.push(event)
    await withoutWarnings(() => client.runAgent({ runId: uniqueName('run') }, { onEvent }))
    expect(events.at(-1)).not.toHaveProperty('usage')
    expect(client.messages.map(message => metadataOf(message)?.usage)).toEqual([undefined, [doubleUsage]])
    client.addMessage({ id: uniqueName('msg'), role: 'user', content: 'plainly' })
    await withoutWarnings(() => client.runAgent({ runId: uniqueName('run') }, { onEvent }))
    // The model's server reported no costs.
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(events.at(-1)).not.toHaveProperty('usage')
  })

  test('covers a failed run up to the failure', async () => {
    const threadId = uniqueName('thread')
    const events = await web.runChat('order 17 and break down', { threadId })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'agent_failed', usage: [singleUsage] })
    expect((await web.readHistory(threadId)).at(-1)?.metadata.usage).toEqual([singleUsage])
  })

  test('covers a cancelled run up to the cancellation, and stays with its text', async () => {
    const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
    const messages = [{ id: uniqueName('msg'), role: 'user', content: 'order 17 and hang on' }]
    const { body } = await web.postRun({ threadId, runId, messages })
    let text = ''
    for await (const bytes of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const isFirst = !text.includes('Hanging')
      text += bytes
      if (isFirst && text.includes('Hanging')) await web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)
    }
    const events = parseEvents(text)
    await checkEventStream(text, events)
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' }, usage: [singleUsage] })
    const storedRow = await eventually(async () => (await web.readHistory(threadId))[1])
    expect(storedRow?.metadata).toMatchObject({ incomplete: true, usage: [singleUsage] })
  })

  test('covers a swarm, and an agent that reports its own', async () => {
    expect((await runOf('crew', 'order 17')).at(-1)).toMatchObject({ type: 'RUN_FINISHED', usage: [doubleUsage] })
    const ownUsage = {
      provider: 'own',
      model: 'house-blend',
      inputTokens: 8,
      cachedInputTokens: 6,
      outputTokens: 3,
      totalTokens: 11,
    }
    expect((await runOf('spender', 'spend')).at(-1)).toMatchObject({ type: 'RUN_FINISHED', usage: [ownUsage] })
  })
})

describe('the usage of an answer', () => {
  async function requestTranscript(query: Record<string, string>, body?: object): Promise<JsonAnswer> {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const response = await fetch(`${web.gateway.url()}/operator/api/transcript?${new URLSearchParams(query)}`, init)
    expect(response.status).toBe(200)
    return response.json()
  }
  const owner = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`

  test.each(['agui', 'envelope', 'normalized', 'jsonl'])(
    'exports and imports as %s, in a chat of its own',
    async format => {
      const [threadId, copy] = [uniqueName('thread'), uniqueName('copy')]
      await web.runChat('order 17', { threadId })
      const thread = `web:${JSON.stringify(['chat', threadId])}`
      const { messages } = await requestTranscript({ owner, thread, format })
      expect(await requestTranscript({ owner, thread, format }, { messages })).toMatchObject({ added: 0 })
      await requestTranscript({ owner, thread: `web:${JSON.stringify(['chat', copy])}`, format }, { messages })
      const rows = await web.readHistory(copy)
      expect(rows.flatMap(({ metadata }) => metadata.usage ?? [])).toEqual([doubleUsage])
    },
  )

  test('is in the operator’s record of a message, and in its printed form', async () => {
    await web.runChat('order 17')
    const [newest] = await web.gateway.messages()
    const record = await web.gateway.readMessage(newest?.id ?? '')
    expect(record.response?.usage).toEqual([usage])
    expect(formatRecord(record)).toContain(
      'cost\n  blend-7: 200 in, 128 read from a cache, 40 out, 240 in all (tokens)\n',
    )
  })

  const tellTale = /usage|tokens|blend-7/

  test.each(['activitypub', 'email'] as const)('is not visible by %s', async via => {
    const { id } = await web.gateway.simulation.send({ via, to: 'chat', text: 'order 17' })
    const record = await eventually(async () => {
      const shownRecord = await web.gateway.readMessage(id)
      return shownRecord.deliveries.some(({ state }) => state === 'sent') && shownRecord
    })
    expect(record.response?.usage).toEqual([usage])
    expect(JSON.stringify(record.deliveries)).toContain('20.00')
    expect(JSON.stringify(record.deliveries)).not.toMatch(tellTale)
    const receivedJson = JSON.stringify(web.gateway.simulation.fediverse.received)
    expect(receivedJson).not.toMatch(/blend-7|input_tokens/)
  })

  test.each(['SendMessage', 'SendStreamingMessage'])('is not visible by A2A, in %s', async method => {
    const token = await web.gateway.simulation.a2a.token({ sub: 'bob' })
    const message = { messageId: uniqueName('a2a'), role: 'ROLE_USER', parts: [{ text: 'order 17' }] }
    const answer = await fetch(`${web.gateway.url()}/agents/chat/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
    })
    const text = await answer.text()
    expect(text).toContain('20.00')
    expect(text).not.toMatch(tellTale)
    const [newest] = await web.gateway.messages()
    expect((await web.gateway.readMessage(newest?.id ?? '')).response?.usage).toEqual([usage])
  })

  test('is in one metric for all agents, with a label for each kind of token', async () => {
    const readMetrics = async () => (await fetch(`${web.gateway.url()}/metrics`)).text()
    const count = async (sample: string) => {
      const line = (await readMetrics()).split('\n').find(metricLine => metricLine.startsWith(`${sample} `))
      return Number(line?.slice(sample.length + 1) ?? 0)
    }
    const labels = (kind: string) => `{agent="chat",model="blend-7",kind="${kind}"}`
    const input = `postern_tokens_total${labels('input')}`
    const cached = `postern_tokens_part_total${labels('cached_input')}`
    const countsBefore = [await count(input), await count(cached)]
    await web.runChat('order 17')
    await eventually(async () => (await count(input)) === (countsBefore[0] ?? 0) + 200)
    expect(await count(cached)).toBe((countsBefore[1] ?? 0) + 128)
  })

  test('arrives in the stream of a model’s server, and reaches no model', () => {
    expect(model.requests.every(({ body }) => body.stream_options !== undefined)).toBe(true)
    expect(JSON.stringify(model.requests.map(({ body }) => body.messages))).not.toMatch(/input_tokens|inputTokens/)
  })
})
