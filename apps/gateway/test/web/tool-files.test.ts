import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests check that files returned by a tool are parts of its result: live, in the history, in exports and in imports.

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway(
    { trace: true },
    { agents: { chat: { use: '../agents/chat/photographer.ts' } }, default_agent: 'chat' },
  )
})
afterAll(() => web.close())

const data = 'iVBORw0KGgo='
const shownParts = [
  { type: 'text', text: 'The roof, from above' },
  { type: 'image', source: { type: 'data', value: data, mimeType: 'image/png' } },
]

async function exchange(format: string, thread: string, messages?: readonly JsonAnswer[]): Promise<JsonAnswer> {
  const query = new URLSearchParams({ format, thread })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const body = messages && { method: 'POST', body: JSON.stringify({ messages }) }
  return (await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, { headers, ...body })).json()
}

test('a tool’s file is in its result’s parts, streamed, exported, and unchanged after an import (C-29)', async () => {
  const threadId = uniqueName('thread')
  const events = await web.runChat('the roof', { threadId })
  const result = events.find(({ type }) => type === 'TOOL_CALL_RESULT') as JsonAnswer
  expect(result).toMatchObject({ toolCallId: 'call-1', content: shownParts })
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  const [, ...laterMessages] = await web.readHistory(threadId, '&include=trace')
  expect(laterMessages.map(({ role }) => role)).toContain('tool')
  expect(laterMessages.find(({ role }) => role === 'tool')?.content).toContain('The roof, from above')

  const [newest] = await web.gateway.messages()
  const thread = newest?.id ?? ''
  const { messages } = await exchange('agui', thread)
  expect(messages.find(({ role }: JsonAnswer) => role === 'tool')).toMatchObject({
    toolCallId: 'call-1',
    content: shownParts,
  })
  expect(await exchange('agui', thread, messages)).toMatchObject({ added: 0 })
  const { messages: envelopes } = await exchange('envelope', thread)
  const toolResult = envelopes.find(({ type }: JsonAnswer) => type === 'tool_result')
  expect(toolResult.payload).toMatchObject({ tool_name: 'photograph', success: true, tool_data: { taken: 1 } })
  expect(JSON.stringify(toolResult)).toContain(data)
  expect(await exchange('envelope', thread, envelopes)).toMatchObject({ added: 0 })
  for (const format of ['store', 'swarm', 'normalized', 'jsonl']) {
    const exported = await exchange(format, thread)
    expect([format, JSON.stringify(exported)]).toEqual([format, expect.stringContaining(data)])
    expect([format, (await exchange(format, thread, exported.messages)).added]).toEqual([format, 0])
  }
})

test('a picture from the client’s own tool is a file for the agent, unless only the client can read its URL (C-22, C-29)', async () => {
  const opaque = { type: 'image', source: { type: 'file', value: 'file-7', provider: 'elsewhere' } }
  for (const [content, expected] of [
    [
      shownParts,
      {
        parts: [
          { kind: 'text' },
          { kind: 'file', mime: 'image/png', bytes_ref: { kind: 'inline', data_base64: data } },
        ],
      },
    ],
    [[opaque], [opaque]],
    ['blue', 'blue'],
  ] as const) {
    const threadId = uniqueName('thread')
    const tools = [{ name: 'camera', description: 'Takes a picture', parameters: { type: 'object' } }]
    const first = await web.runChat('yours', { threadId, tools })
    expect(first.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: ['call-2'] } })
    const messages = [{ id: uniqueName('msg'), role: 'tool', toolCallId: 'call-2', content }]
    const response = await web.postRun({ threadId, runId: uniqueName('run'), messages, tools })
    expect(await response.text()).toContain('RUN_FINISHED')
    const text = (await web.readHistory(threadId)).at(-1)?.content ?? ''
    expect([JSON.parse(text)]).toMatchObject([expected])
  }
})
