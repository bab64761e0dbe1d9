import { collectAnswer } from '@postern/pipeline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import { everythingCommand } from '../../test/mcp-server.ts'
import type { Complete } from '../../test/model-server.ts'
import { openModelServer, replyWith, respondWithToolCall } from '../../test/model-server.ts'
import { readToolResult } from './tool-result.ts'

const kinds = {
  openai: (model: object) => ({ use: 'openai', ...model, mcp: [everythingCommand] }),
  swarm: (model: object) => ({
    use: 'swarm',
    default_agent: 'one',
    model,
    members: { one: { prompt: 'I am one.', mcp: [everythingCommand] } },
  }),
} as const

/** Lets the model call one tool, and returns the files of the answer and the result that the model read. */
async function callOnce(kind: keyof typeof kinds, name: string, args: unknown) {
  const script: Complete = ({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? replyWith('Here it is.') : respondWithToolCall(name, args)
  const server = await openModelServer(script)
  onTestFinished(server.close)
  const { agent, close } = await openTestAgent(kinds[kind]({ base_url: server.baseUrl, model: 'test-model' }))
  onTestFinished(close)
  const answer = await collectAnswer(await agent.handle(testMessage('hello'), testContext()), () => undefined)
  const files = (answer?.parts ?? []).filter(part => part.kind === 'file')
  return { files, heard: String(server.requests[1]?.body.messages.at(-1)?.content) }
}

describe.each(['openai', 'swarm'] as const)('an MCP tool of an agent of the kind %s', kind => {
  test('adds its image to the answer, and the model reads type and size', async () => {
    const { files, heard } = await callOnce(kind, 'get-tiny-image', {})
    expect(files).toEqual([
      { kind: 'file', mime: 'image/png', bytes_ref: { kind: 'inline', data_base64: expect.stringMatching(/^iVBOR/) } },
    ])
    const [before, image, after] = JSON.parse(heard).parts
    expect(image).toEqual({ kind: 'file', mime: 'image/png', size: expect.any(Number) })
    expect([before.content, after.content].join()).toContain('image')
    expect(heard).not.toContain('iVBOR')
  })

  test('adds the bytes of a resource to the answer, by the name in its URI', async () => {
    const { files, heard } = await callOnce(kind, 'get-resource-reference', { resourceType: 'Blob', resourceId: 7 })
    expect(files).toMatchObject([{ name: '7', mime: 'text/plain' }])
    expect(JSON.parse(heard).parts).toContainEqual({
      kind: 'file',
      name: '7',
      mime: 'text/plain',
      size: expect.any(Number),
    })
  })
})

const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
const bytes = { kind: 'inline', data_base64: 'aGk=' }

describe('a result with files', () => {
  test.each<[what: string, value: unknown, parts: readonly unknown[]]>([
    ['an image', { content: [image] }, [{ kind: 'file', mime: 'image/png', bytes_ref: bytes }]],
    [
      'a sound without a type',
      { content: [{ type: 'audio', data: 'aGk=' }] },
      [{ kind: 'file', mime: 'application/octet-stream', bytes_ref: bytes }],
    ],
    [
      'a resource',
      { content: [{ type: 'resource', resource: { uri: 'file:///a/menu%20of%2Ftoday.pdf?x#y', blob: 'aGk=' } }] },
      [{ kind: 'file', name: 'menu of_today.pdf', mime: 'application/octet-stream', bytes_ref: bytes }],
    ],
    [
      'a resource whose name nobody can decode or see',
      { content: [{ type: 'resource', resource: { uri: 'x:%E0%A4\u{e0041}', blob: 'aGk=' } }] },
      [{ kind: 'file', name: 'x:%E0%A4', mime: 'application/octet-stream', bytes_ref: bytes }],
    ],
    [
      'an image for people and one for the model alone',
      {
        content: [
          { ...image, annotations: { audience: ['user'] } },
          { ...image, annotations: { audience: ['assistant'] } },
        ],
      },
      [
        { kind: 'file', mime: 'image/png', bytes_ref: bytes },
        { kind: 'text', mime: 'text/plain', content: '[image, image/png, 2 bytes]' },
      ],
    ],
  ])('has %s as a part', (_what, value, parts) => expect(readToolResult(value)).toEqual({ parts }))

  test('keeps its structured content too', () => {
    const content = [{ type: 'text', text: '{"n":1}' }, image]
    expect(readToolResult({ content, structuredContent: { n: 1 } })).toEqual({
      structuredContent: { n: 1 },
      parts: [{ kind: 'file', mime: 'image/png', bytes_ref: bytes }],
    })
  })
})

describe('the text of a result for a model', () => {
  test.each<[value: unknown, told: unknown]>([
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'a\nb',
    ],
    [{ content: [], structuredContent: { n: 1 } }, { n: 1 }],
    [
      { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png', annotations: { audience: ['assistant'] } }] },
      '[image, image/png, 3 bytes]',
    ],
    [{ content: [{ type: 'image', mimeType: 'image/png' }] }, '[image, image/png, 0 bytes]'],
    [{ content: [{ type: 'resource', resource: { uri: 'file:///x', text: 'inside' } }] }, 'inside'],
    [{ content: [{ type: 'resource', resource: { uri: 'file:///x' } }] }, '[file:///x, unknown type]'],
    [{ content: [{ type: 'resource_link', uri: 'file:///x', name: 'x' }] }, '[x: file:///x]'],
    [{ content: [{ type: 'later' }] }, '[later, unknown type, 0 bytes]'],
  ])('describes %j', (value, toolResult) => expect(readToolResult(value)).toEqual(toolResult))

  test('contains the reason of a failure', () => {
    expect(() => readToolResult({ content: [{ type: 'text', text: 'no cake' }], isError: true })).toThrow('no cake')
    expect(() => readToolResult({ content: 'x' })).toThrow()
  })
})
