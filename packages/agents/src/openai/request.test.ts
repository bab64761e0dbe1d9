import type { Part } from '@postern/message'
import { Undeliverable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openAgentGateway, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import { replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const file = (name: string, mime: string, size = 10): Part => ({
  kind: 'file',
  name,
  mime,
  size,
  bytes_ref: { kind: 'inline', data_base64: png.toString('base64') },
})

describe('a request', () => {
  test('has the configured members, and the key as authorization', async () => {
    const { ask, server } = await openModelAgent([replyWith('hi')], {
      config: {
        api_key: 'sk-test',
        temperature: 0.2,
        max_tokens: 99,
        prompt: 'Be kind.',
        parameters: { top_p: 0.5, reasoning_effort: 'low' },
      },
    })
    await ask()
    const [request] = server.requests
    expect(request?.path).toBe('/v1/chat/completions')
    expect(request?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'content-type': 'application/json' })
    const { messages, ...members } = request?.body ?? { messages: [] }
    expect(members).toEqual({
      model: 'test-model',
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.2,
      max_tokens: 99,
      top_p: 0.5,
      reasoning_effort: 'low',
    })
    expect(messages[0]?.content).toMatch(/^Be kind\.\n\n/)
  })

  test('has no authorization without a key, and keeps the URL’s query', async () => {
    const { server } = await openModelAgent([replyWith('hi')])
    const { agent } = await openTestAgent({ use: 'openai', base_url: `${server.baseUrl}/?api-version=1`, model: 'm' })
    for await (const _ of (await agent.handle(testMessage('x'), testContext())) as AsyncIterable<unknown>);
    expect(server.requests[0]?.path).toBe('/v1/chat/completions?api-version=1')
    expect(server.requests[0]?.headers.authorization).toBeUndefined()
  })

  test('reports the hidden text that the channel noticed', async () => {
    const { ask, server } = await openModelAgent([replyWith('hi')])
    await ask('hello', { flags: ['hidden_text'] })
    expect(server.requests[0]?.body.messages.at(-1)?.content).toContain('"flags":["hidden_text"]')
  })
})

test('a model gets no lone surrogate from messages or tools', async () => {
  const modelStream = streamOf([{ role: 'assistant', content: 'so \ud83d' }])
  const toolCall = respondWithToolCall('halve', { '\ude00': '\ud83d' })
  const both = { pieces: [...(modelStream.pieces ?? []).slice(0, 1), ...(toolCall.pieces ?? [])] }
  const { ask, server } = await openModelAgent([both, replyWith('done')], { config: { tools: './tools/halving.ts' } })
  const { answer } = await ask()
  expect(answer?.parts).toContainEqual(
    expect.objectContaining({
      args: { '\ufffd': '\ufffd' },
      result: { args: { '\ufffd': '\ufffd' }, '\ufffd': ['\ufffd'] },
    }),
  )
  expect(server.requests[1]?.text).toContain('so \ufffd')
  expect(server.requests[1]?.text).not.toMatch(/\\u[dD][89a-fA-F]/)
})

describe('pictures in a message', () => {
  const message = testMessage('Look.', {
    parts: [
      { kind: 'text', mime: 'text/plain', content: 'Look.' },
      file('a.png', 'image/png'),
      file('b.svg', 'image/svg+xml'),
      file('c.txt', 'text/plain'),
      file('huge.png', 'image/png', 6 * 1024 * 1024),
    ],
  })

  test('depend on their bytes instead of their names, while the request only names other files', async () => {
    const { ask, server } = await openModelAgent([replyWith('I see.')], { config: { images: true } })
    const bytesOf: Readonly<Record<string, Buffer>> = { 'a.png': png, 'b.svg': Buffer.from('<svg/>') }
    const read: string[] = []
    await ask(message, {
      attachment: async ({ name = '' }) => {
        read.push(name)
        return { bytes: bytesOf[name] ?? png }
      },
    })
    expect(read).toEqual(['a.png', 'b.svg'])
    const content = server.requests[0]?.body.messages.at(-1)?.content as readonly { readonly type: string }[]
    expect(content.slice(1)).toEqual([
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
    ])
    expect(content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('"huge.png"') })
  })

  test('that the gateway cannot load are missing with a note, and the agent still answers', async () => {
    const { ask, server } = await openModelAgent([replyWith('Where?')], { config: { images: true } })
    const attachment = () => Promise.reject(new Undeliverable('Cannot fetch attachment: its host answered 404'))
    expect(textOfAnswer((await ask(message, { attachment })).answer)).toBe('Where?')
    const content = server.requests[0]?.body.messages.at(-1)?.content
    const [text, ...imageParts] = content as readonly object[]
    expect(text).toMatchObject({ text: expect.stringContaining('"a.png"') })
    expect(imageParts).toEqual(
      [1, 2].map(position => {
        const notice = `[Picture ${position} of the message cannot be read: it could not be fetched.]`
        return { type: 'text', text: notice }
      }),
    )
  })

  test('are missing unless the configuration enables them', async () => {
    const { ask, server } = await openModelAgent([replyWith('No.')])
    const attachment = () => Promise.reject(new Error('must not be read'))
    await ask(message, { attachment })
    expect(server.requests[0]?.text).not.toContain('base64')
  })
})

describe('the configuration of an openai agent', () => {
  const good = { use: 'openai', base_url: 'http://127.0.0.1:11434/v1', model: 'm' }

  test.each([
    [{ base_url: 'ftp://x' }, 'agents.subject.base_url'],
    [{ base_url: 'https://user:pass@models.example/v1' }, 'base_url: must not hold credentials or a fragment'],
    [{ model: '' }, 'agents.subject.model'],
    [{ api_key: 'two words' }, 'agents.subject.api_key: must be one word of ASCII'],
    [{ temperature: 3 }, 'agents.subject.temperature'],
    [{ max_tokens: 0 }, 'agents.subject.max_tokens'],
    [{ parameters: { messages: [] } }, 'agents.subject.parameters: must not have model, messages'],
    [{ tools: 'tools' }, 'agents.subject.tools: must be a path such as "./tools.ts"'],
    [{ max_rounds: 0 }, 'agents.subject.max_rounds'],
    [{ top_p: 1 }, 'Beside "use" it may have: name, description'],
  ])('fails with %j', async (members, problem) => {
    await expect(openAgentGateway({ subject: { ...good, ...members } })).rejects.toThrow(problem)
  })

  test('needs only a URL and a model', async () => {
    await expect(openAgentGateway({ subject: { use: 'openai' } })).rejects.toThrow('agents.subject.base_url')
    expect((await openAgentGateway({ subject: good })).find('subject')).toMatchObject({ displayName: 'subject' })
  })
})
