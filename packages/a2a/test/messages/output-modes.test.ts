import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseOutputConversion } from '../../src/forms/output-conversion.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

const markdown = 'Open **daily**, see [the map](https://example.org/map).'
const answers: Readonly<
  Record<string, readonly [mime: 'text/markdown' | 'text/html' | 'text/plain', content: string]>
> = {
  markdown: ['text/markdown', markdown],
  html: ['text/html', '<p>Open <b>daily</b></p>'],
  plain: ['text/plain', 'a * b <c>'],
  json: ['text/plain', '{"open": ["daily"]}'],
}

const dataJson = '{\n  "open": [\n    "<daily>"\n  ]\n}'

const agent: Agent = {
  async *handle({ parts }) {
    const text = joinTextParts(parts)
    const [mime, content] = answers[text] ?? answers.markdown ?? ['text/plain', '']
    if (text === 'data') return yield { kind: 'artifact', data: { open: ['<daily>'] } } as never
    if (text === 'call') {
      yield { kind: 'tool_call', id: '1', name: 'look', args: {}, result: 1 }
      return yield 'done'
    }
    if (text !== 'pieces') return yield { kind: 'text', mime, content }
    for (const piece of ['Open **da', 'ily**']) {
      yield { kind: 'text', mime: 'text/markdown', content: piece }
      await new Promise(resolve => setTimeout(resolve, 60))
    }
  },
}

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { desk: agent } })
})
afterAll(() => gateway.close())

async function requestText(text: string, acceptedOutputModes: readonly string[], overrides: object = {}) {
  const { body } = await gateway.sendText(text, {}, { configuration: { acceptedOutputModes, ...overrides } })
  return body.result?.task
}

describe('an answer has a form that the client accepts', () => {
  test.each<[string, string[], object]>([
    [
      'markdown',
      ['text/plain'],
      { text: 'Open daily, see the map (https://example.org/map).', mediaType: 'text/plain' },
    ],
    ['html', ['text/plain'], { text: 'Open daily', mediaType: 'text/plain' }],
    ['html', ['text/markdown'], { text: 'Open **daily**', mediaType: 'text/markdown' }],
    ['markdown', ['text/html'], { text: expect.stringContaining('<strong>daily</strong>'), mediaType: 'text/html' }],
    ['json', ['application/json'], { data: { open: ['daily'] }, mediaType: 'application/json' }],
    ['plain', ['text/markdown'], { text: 'a \\* b \\<c\\>', mediaType: 'text/markdown' }],
    ['data', ['text/plain'], { text: dataJson, mediaType: 'text/plain' }],
    ['data', ['text/markdown'], { text: `\`\`\`json\n${dataJson}\n\`\`\``, mediaType: 'text/markdown' }],
    ['data', ['text/plain', 'application/json'], { data: { open: ['<daily>'] }, mediaType: 'application/json' }],
    // Parts that the client accepts stay the same, and so do parts that have no other form.
    ['markdown', ['text/plain', 'text/markdown'], { text: markdown, mediaType: 'text/markdown' }],
    ['markdown', ['text'], { text: markdown, mediaType: 'text/markdown' }],
    ['markdown', ['*/*'], { text: markdown, mediaType: 'text/markdown' }],
    ['markdown', [], { text: markdown, mediaType: 'text/markdown' }],
    ['plain', ['application/json'], { text: 'a * b <c>', mediaType: 'text/plain' }],
  ])('%s for %j', async (text, modes, part) => {
    expect((await requestText(text, modes)).artifacts[0].parts).toEqual([part])
  })

  test('data for a client that shows HTML', () => {
    const parts = chooseOutputConversion(['text/html'])?.convertParts([{ data: '<b>', mediaType: 'application/json' }])
    expect(parts).toEqual([{ text: '<pre><code>&quot;&lt;b&gt;&quot;</code></pre>', mediaType: 'text/html' }])
  })

  test('except for data of programs, such as calls of tools', async () => {
    const { artifacts } = await requestText('call', ['text/plain'])
    expect(artifacts[0].parts).toContainEqual(expect.objectContaining({ data: expect.anything() }))
  })

  test('if the client asks for the task later', async () => {
    const { id } = await requestText('html', ['text/plain'], { returnImmediately: true })
    const read = async () => (await gateway.rpc('GetTask', { id })).body.result.artifacts?.[0].parts
    await expect.poll(read).toEqual([{ text: 'Open daily', mediaType: 'text/plain' }])
  })

  test('in a stream once the text is whole, since chunks may cut its marks', async () => {
    const stream = async (acceptedOutputModes: readonly string[], id: string) => {
      const message = { messageId: id, role: 'ROLE_USER', parts: [{ text: 'pieces' }] }
      const params = { message, configuration: { acceptedOutputModes } }
      const events = await (await openStream(gateway, 'SendStreamingMessage', params)).events()
      return events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? []).map(({ text }) => text)
    }
    expect(await stream(['text/plain'], 'p-1')).toEqual(['Open daily'])
    expect(await stream(['text/markdown'], 'p-2')).toEqual(['Open **da', 'ily**'])
  })
})

test('media types with a JSON suffix count as JSON (RFC 6839 §3.1)', async () => {
  const send = (mediaType: string) => gateway.sendText('', { parts: [{ text: 'hi' }, { data: { a: 1 }, mediaType }] })
  const { body } = await send('application/vnd.shop.order+json')
  expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  expect((await send('application/vnd.shop.order+xml')).body.error?.code).toBe(-32005)
})
