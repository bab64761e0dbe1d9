import type { BaseEvent, Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { formatNames } from '@postern/transcript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, uniqueName, withoutWarnings } from '../setup/web-gateway.ts'

// These tests check that a message of a chat has one id: in the stream, in the history, and wherever it is moved to.

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway(
    { trace: true },
    { agents: { chat: { use: '../agents/chat/clock.ts' } }, default_agent: 'chat' },
  )
})
afterAll(() => web.close())

function openClient(threadId = uniqueName('thread')): HttpAgent {
  const headers = { authorization: 'Bearer token-of-ann-for-the-tests' }
  return new HttpAgent({ url: `${web.gateway.url()}/api/v1/agent/runs`, headers, threadId })
}

async function runChat(client: HttpAgent, content: string): Promise<readonly BaseEvent[]> {
  const events: BaseEvent[] = []
  client.addMessage({ id: uniqueName('msg'), role: 'user', content })
  await withoutWarnings(() =>
    client.runAgent(
      { runId: uniqueName('run') },
      { onEvent: ({ event }) => void events.push(event), onRunFailed: () => undefined },
    ),
  )
  return events
}

const idsOf = (messages: readonly { readonly id: string; readonly role: string }[]) =>
  messages.map(({ id, role }) => `${role} ${id}`).toSorted()

/** Returns the ids and texts that the client shows, without its calls. */
const shownTo = ({ messages }: HttpAgent) =>
  messages
    .filter(message => message.role === 'user' || (message.role === 'assistant' && message.content))
    .map(({ id, role, content }: Message) => ({ id, role, content }))

const shownLater = async ({ threadId }: HttpAgent) =>
  (await web.readHistory(threadId)).map(({ id, role, content }) => ({ id, role, content }))

async function exchange(thread: string, format: string, messages?: readonly JsonAnswer[]): Promise<JsonAnswer> {
  const query = new URLSearchParams({ owner: 'web:["https://agents.test","ann"]', thread, format })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const body = messages && { method: 'POST', body: JSON.stringify({ messages }) }
  return (await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, { headers, ...body })).json()
}

const nameOf = (threadId: string) => `web:${JSON.stringify(['chat', threadId])}`

describe('the id of a message', () => {
  test.each(['noon', 'between', 'whole', 'consent', 'question'])(
    'is the same in the stream and in the history, also after tool calls (%s)',
    async word => {
      const client = openClient()
      await runChat(client, 'noon')
      await runChat(client, word)
      expect(shownTo(client)).toEqual(await shownLater(client))
    },
  )

  test('is the same for a tool call and its result', async () => {
    const client = openClient()
    const events = await runChat(client, 'between')
    const { messageId } = findEvent(events, 'TOOL_CALL_RESULT')
    const trace = await web.readHistory(client.threadId, '&include=trace')
    expect(trace.find(({ role }) => role === 'tool')?.id).toBe(messageId)
    expect(idsOf(trace)).toEqual(idsOf(client.messages))
  })

  test('belongs to one message even if an agent repeats the ids of its calls', async () => {
    const threadId = uniqueName('thread')
    await runChat(openClient(threadId), 'between')
    await runChat(openClient(threadId), 'between')
    const ids = (await web.readHistory(threadId, '&include=trace')).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each([...formatNames, 'jsonl'])('stays the same when an export moves the chat by %s', async format => {
    const client = openClient()
    for (const word of ['between', 'noon', 'whole']) await runChat(client, word)
    const { messages } = await exchange(nameOf(client.threadId), format)
    const moved = uniqueName('thread')
    expect(await exchange(nameOf(moved), format, messages)).toMatchObject({ added: 14 })
    const [earlierRows, laterRows] = await Promise.all(
      [client.threadId, moved].map(threadId => web.readHistory(threadId, '&include=trace')),
    )
    expect(earlierRows).toHaveLength(14)
    expect(laterRows?.map(({ id, content }) => [id, content])).toEqual(
      earlierRows?.map(({ id, content }) => [id, content]),
    )
  })
})

test.each(['noon', 'between'])(
  'the text after a tool call has its latency and the stream’s id in its metadata (C-19): %s',
  async word => {
    const client = openClient()
    const events = await runChat(client, word)
    const answer = (await web.readHistory(client.threadId)).at(-1)
    expect(answer?.metadata).toEqual({
      run_id: expect.any(String),
      stage: 'execution',
      latency_ms: expect.any(Number),
      message_id: (events.findLast(({ type }) => type === 'TEXT_MESSAGE_START') as JsonAnswer).messageId,
    })
  },
)

describe('the messages of the history', () => {
  test('replace the messages of an interrupted attempt', async () => {
    const client = openClient()
    const events = await runChat(client, 'again')
    expect(JSON.stringify(events)).toContain('Half of ')
    expect(shownTo(client).at(-1)?.content).toBe('It is noon.')
    expect(JSON.stringify(client.messages)).not.toContain('Half of ')
    expect(shownTo(client)).toEqual(await shownLater(client))
    const trace = await web.readHistory(client.threadId, '&include=trace')
    expect(idsOf(trace)).toEqual(idsOf(client.messages))
  })

  test('match the client’s messages when the owner cancels a run after a tool call', async () => {
    const client = openClient()
    client.addMessage({ id: uniqueName('msg'), role: 'user', content: 'wait' })
    const runId = uniqueName('run')
    await client.runAgent(
      { runId },
      {
        onEvent({ event }) {
          if ((event as JsonAnswer).delta === 'noon.')
            void web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)
        },
      },
    )
    await eventually(async () => (await shownLater(client)).length > 1)
    expect(shownTo(client).map(({ content }) => content)).toEqual(['wait', 'Look', 'It is noon.'])
    expect(shownTo(client)).toEqual(await shownLater(client))
  })

  test('match the client’s messages when the turn fails', async () => {
    const client = openClient()
    const events = await runChat(client, 'fail')
    expect(events.at(-1)?.type).toBe('RUN_ERROR')
    expect(shownTo(client).map(({ content }) => content)).toEqual(['fail', 'Look', expect.stringContaining('Sorry')])
    expect(shownTo(client)).toEqual(await shownLater(client))
  })

  test('keep earlier tool calls of the client when its stream ends with them', async () => {
    const client = openClient()
    await runChat(client, 'between')
    const idsBefore = idsOf(client.messages)
    await runChat(client, 'fail')
    expect(idsOf(client.messages)).toEqual(expect.arrayContaining(idsBefore))
  })
})

test('a client can close a question after a tool call, and no run waits for it any more', async () => {
  const client = openClient()
  const { outcome } = findEvent(await runChat(client, 'question'), 'RUN_FINISHED')
  const interruptId = outcome.interrupts[0]?.id
  const resume = [{ interruptId, status: 'cancelled' }]
  const closingResponse = await web.postRun({
    threadId: client.threadId,
    runId: uniqueName('run'),
    messages: [],
    resume,
  })
  expect(await closingResponse.text()).toContain('"outcome":{"type":"success"}')
})
