import type { PartialResponse } from '@postern/message'
import { collectAnswer } from '@postern/pipeline'
import { expect, onTestFinished, test } from 'vitest'
import { openAguiServer, runOf, textEvent } from '../../test/agui-server.ts'
import { openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import { textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'
import { openModelServer, streamOf } from '../../test/model-server.ts'

const cut = (text: string) =>
  Array.from({ length: Math.ceil(text.length / 7) }, (_, at) => text.slice(at * 7, at * 7 + 7))

/** The ways in which a model's text reaches the gateway. */
const ways: Readonly<Record<string, (said: string) => Promise<{ config: Record<string, unknown>; close(): unknown }>>> =
  {
    'a model that streams': said => openModel(streamOf(cut(said).map(content => ({ content }))), { use: 'openai' }),
    'a model that answers at once': said => openModel(answerWith(said), { use: 'openai', stream: false }),
    'a member of a swarm': said =>
      openModel(streamOf(cut(said).map(content => ({ content }))), {
        use: 'swarm',
        default_agent: 'one',
        members: { one: { prompt: 'I am one.' } },
      }),
    async 'an AG-UI server'(said) {
      const server = await openAguiServer(() => runOf(...cut(said).map(delta => textEvent(delta))))
      return { config: { use: 'ag-ui', url: server.url }, close: server.close }
    },
    async 'an AG-UI server that streams nothing'(said) {
      const messages = [{ id: 'a', role: 'assistant', content: said }]
      const server = await openAguiServer(() => runOf({ type: 'MESSAGES_SNAPSHOT', messages }))
      return { config: { use: 'ag-ui', url: server.url }, close: server.close }
    },
  }

function answerWith(content: string): ModelReply {
  return { body: { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] } }
}

async function openModel(reply: ModelReply, { use, ...config }: Record<string, unknown>) {
  const server = await openModelServer(() => reply)
  const model = { base_url: server.baseUrl, model: 'test-model' }
  return { config: { use, ...(use === 'swarm' ? { model } : model), ...config }, close: server.close }
}

async function ask(way: string, modelText: string, settings: Record<string, unknown> = {}) {
  const { config, close } = (await ways[way]?.(modelText)) ?? { config: {}, close: () => {} }
  onTestFinished(async () => void (await close()))
  const subject = await openTestAgent({ ...config, ...settings } as Parameters<typeof openTestAgent>[0])
  onTestFinished(subject.close)
  const chunks: PartialResponse[] = []
  const response = await subject.agent.handle(testMessage('hello'), testContext())
  const answer = await collectAnswer(response, chunk => void chunks.push(chunk))
  return { text: textOfAnswer(answer), streamed: chunks.map(textOfAnswer).join(''), chunks }
}

const leaks = [
  'The user wants hours.\n</think>\n\nOpen daily.',
  '<thought>The user wants hours.</thought>\nOpen daily.',
  '<think>a</think><think>b</think>Open daily.',
  '<|channel|>analysis<|message|>The user wants hours.<|end|><|start|>assistant<|channel|>final<|message|>Open daily.',
  'Open daily.<|im_end|>',
]

test.each(Object.keys(ways).flatMap(way => leaks.map(said => [way, said] as const)))(
  'people get only the answer of %s, and the record the rest: %j',
  async (way, modelText) => {
    const { text, streamed, chunks } = await ask(way, modelText)
    expect(text).toBe('Open daily.')
    expect(streamed).toBe('Open daily.')
    expect(
      chunks
        .flatMap(({ withheld = [] }) => withheld)
        .map(({ text: kept }) => kept)
        .join(''),
    ).toMatch(/think|thought|channel|im_end/)
  },
)

test.each(Object.keys(ways))('%s may talk about such marks', async way => {
  const modelText = 'R1 ends its thought with `</think>`, and <think> begins it.\n\n```\n<think>\n```'
  expect((await ask(way, modelText)).text).toBe(modelText)
})

test.each(Object.keys(ways).slice(0, 2))('people never see a tool call that %s writes as text', async way => {
  expect((await ask(way, 'Let me look.\n<tool_call>\n{"name": "x"}\n</tool_call>')).text).toBe('Let me look.')
  await expect(ask(way, '<tool_call>\n{"name": "x"}\n</tool_call>')).rejects.toThrow('wrote a call of a tool as text')
})

test('the record has the reasoning of its own field, and the answer does not wait for it', async () => {
  const reply = streamOf([
    { reasoning_content: 'Hours?' },
    { reasoning: ' Yes.' },
    ...cut('Open daily.').map(content => ({ content })),
  ])
  const { config, close } = await openModel(reply, { use: 'openai' })
  onTestFinished(async () => void (await close()))
  const subject = await openTestAgent(config as Parameters<typeof openTestAgent>[0])
  const chunks: PartialResponse[] = []
  const response = await subject.agent.handle(testMessage('hello'), testContext())
  await collectAnswer(response, chunk => void chunks.push(chunk))
  expect(chunks.map(textOfAnswer).filter(Boolean)).toEqual(['Open da', 'ily.'])
  expect(chunks.flatMap(({ withheld = [] }) => withheld)).toEqual([{ kind: 'reasoning', text: 'Hours? Yes.' }])
})
