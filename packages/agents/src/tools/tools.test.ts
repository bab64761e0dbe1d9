import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ToolCallPart } from '@postern/message'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openAgentGateway } from '../../test/gateway.ts'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'
import { replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'
import { boast } from '../../test/tools/shed.ts'

const config = { tools: './tools/shed.ts' }
const secret = 'correct-horse-battery-staple'

/** Returns the outcome of the first call, as the peer and as the model sees it. */
async function outcomeOf(reply: ModelReply) {
  const { ask, server } = await openModelAgent([reply, replyWith('done')], { config })
  const { answer } = await ask()
  expect(JSON.stringify(server.requests)).not.toContain(secret)
  const part = answer?.parts?.[0] as ToolCallPart
  return { part, told: JSON.parse(String(server.requests[1]?.body.messages.at(-1)?.content)) }
}

describe('tools', () => {
  test('appear with their schemas in the request', async () => {
    const { ask, server } = await openModelAgent([replyWith('hi')], { config })
    await ask()
    const { tools = [], tool_choice } = server.requests[0]?.body ?? {}
    expect(tool_choice).toBe('auto')
    expect(tools).toContainEqual({
      type: 'function',
      function: {
        name: 'look',
        description: 'Looks around',
        parameters: expect.objectContaining({ required: ['where'], additionalProperties: false }),
      },
    })
    expect(tools).toHaveLength(7)
  })

  test('run, show their beginning and end, and return their result to the model', async () => {
    const { ask, server } = await openModelAgent(
      [respondWithToolCall('look', { where: 'here' }), replyWith('Nothing.')],
      { config },
    )
    const { answer, chunks } = await ask()
    const part = { kind: 'tool_call', id: 'call_1', name: 'look', args: { where: 'here' } }
    const ended = { ...part, result: { found: 'nothing in here' } }
    expect(chunks.slice(0, 2)).toEqual([{ parts: [part] }, { parts: [ended] }])
    expect(answer?.parts).toEqual([ended, { kind: 'text', mime: 'text/markdown', content: 'Nothing.' }])
    expect(server.requests[1]?.body.messages.slice(-2)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"where":"here"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"found":"nothing in here"}' },
    ])
  })

  test.each([
    [
      'arguments that the schema refuses',
      respondWithToolCall('look', { where: 1 }),
      'where: Invalid input: expected string, received number',
    ],
    [
      'arguments that are none',
      respondWithToolCall('look', { where: 'x', why: 'y' }),
      'arguments: Unrecognized key: "why"',
    ],
    [
      'arguments that would be copied into more than a member',
      respondWithToolCall('remember', JSON.parse('{"what":"x","of":[{"__proto__":{"isAdmin":true}}]}')),
      '__proto__: no argument may have this name',
    ],
    ['a tool that is not there', respondWithToolCall('rm', {}), 'There is no such tool.'],
    ['a tool that throws', respondWithToolCall('explode', {}), 'The tool failed.'],
    ['a result that is too large', respondWithToolCall('boast', {}), 'The tool failed.'],
  ])('tell only the model: %s', async (_, reply, message) => {
    const { part, told } = await outcomeOf(reply)
    expect(told).toEqual({ error: message })
    expect(part.error).toEqual({ message })
  })

  test('do not run with arguments that are not JSON', async () => {
    const brokenCall = { index: 0, id: 'c', function: { name: 'look', arguments: '{"where":' } }
    const { part } = await outcomeOf(streamOf([{ tool_calls: [brokenCall] }], 'tool_calls'))
    expect(part).toMatchObject({ args: '{"where":', error: { message: 'The arguments are not valid JSON.' } })
  })

  test('are distinct when two calls use one id', async () => {
    const { ask } = await openModelAgent(
      [
        respondWithToolCall('look', { where: 'a' }, 'call_0'),
        respondWithToolCall('look', { where: 'b' }, 'call_0'),
        respondWithToolCall('look', { where: 'c' }, ''),
        replyWith('No.'),
      ],
      { config },
    )
    const { answer } = await ask()
    expect(answer?.parts?.map(part => part.kind === 'tool_call' && [part.id, part.args])).toEqual([
      ['call_0', { where: 'a' }],
      ['call00002', { where: 'b' }],
      ['call00003', { where: 'c' }],
      false,
    ])
  })

  test('run a limited number of times, and then the model must answer', async () => {
    const replies = [
      respondWithToolCall('look', { where: 'a' }, '1'),
      respondWithToolCall('look', { where: 'b' }, '2'),
      replyWith('Enough.'),
    ]
    const { ask, server } = await openModelAgent(replies, { config: { ...config, max_rounds: 2 } })
    expect(textOfAnswer((await ask()).answer)).toContain('Enough.')
    expect(server.requests.map(({ body }) => body.tool_choice)).toEqual(['auto', 'auto', 'none'])
  })

  test('fail the model if it calls them without end', async () => {
    const { ask } = await openModelAgent(() => respondWithToolCall('look', { where: 'a' }, ''), {
      config: { ...config, max_rounds: 2 },
    })
    await expect(ask()).rejects.toThrow('The model goes on calling tools; raise "max_rounds"')
  })

  test('fail if the model sends too many or too long calls, or half of one', async () => {
    const one = (index: number, args = '{}') => ({
      index,
      id: `c${index}`,
      function: { name: 'look', arguments: args },
    })
    const many = streamOf([{ tool_calls: Array.from({ length: 33 }, (_, index) => one(index)) }])
    const long = streamOf([{ tool_calls: [one(0, 'x'.repeat(300 * 1024))] }])
    const half = streamOf([{ tool_calls: [one(0, '{"whe')] }], 'length')
    for (const [reply, problem] of [
      [many, 'calls more than 32 tools at once'],
      [long, 'calls a tool with too large arguments'],
      [half, 'cut off while it called a tool'],
    ] as const) {
      const { ask } = await openModelAgent([reply], { config })
      await expect(ask()).rejects.toThrow(problem)
    }
  })

  test('stay hidden, unless the configuration shows them', async () => {
    const replies = [respondWithToolCall('look', { where: 'here' }), replyWith('Nothing.')]
    const { ask, server } = await openModelAgent(replies, { config: { ...config, show_tools: undefined } })
    const { answer, chunks } = await ask()
    expect(JSON.stringify([answer, chunks])).not.toContain('look')
    expect(textOfAnswer(answer)).toBe('Nothing.')
    expect(server.requests[1]?.body.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: '{"found":"nothing in here"}',
    })
  })

  test('allow an empty answer after them if silence is allowed', async () => {
    const quiet = { ...config, show_tools: false, may_stay_silent: true }
    const { ask } = await openModelAgent([respondWithToolCall('remember', { what: 'x' }), replyWith('')], {
      config: quiet,
    })
    expect((await ask()).answer).toBeUndefined()
  })

  test('do not count after the end of the turn if they never end', async () => {
    const controller = new AbortController()
    const { ask } = await openModelAgent([respondWithToolCall('wait', {})], { config })
    setTimeout(() => controller.abort(new Error('the agent took too long')), 50)
    await expect(ask('hello', { signal: controller.signal })).rejects.toThrow('the agent took too long')
  })

  test('close with the gateway', async () => {
    const before = boast.closed
    const { close } = await openModelAgent([], { config })
    await close()
    expect(boast.closed).toBe(before + 1)
  })
})

describe('the gateway refuses a module of tools', () => {
  const members = { use: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' }

  test('when it is missing', async () => {
    const opening = openAgentGateway({ subject: { ...members, tools: './tools/nobody.ts' } })
    await expect(opening).rejects.toThrow('agents.subject.tools: "./tools/nobody.ts" cannot be loaded')
  })

  test.each([
    ['', 'exports no tool'],
    ['export const look = { run() {} }', 'the tool "look": description is not valid'],
    ['export const look = { description: "x" }', 'the tool "look": run is not valid'],
    ['export const größe = { description: "x", run() {} }', '"größe" cannot be the name of a tool'],
    [
      'export const look = { description: "x", run() {}, parameters: { type: "wrong" } }',
      'no JSON Schema that can be checked',
    ],
  ])('that exports %j', async (source, problem) => {
    const path = join(tmpdir(), `tools-${process.pid}-${Buffer.from(source).toString('hex').slice(-24)}.mjs`)
    await writeFile(path, source)
    onTestFinished(() => rm(path))
    await expect(openAgentGateway({ subject: { ...members, tools: path } })).rejects.toThrow(problem)
  })
})
