import { describe, expect, test } from 'vitest'
import { openAgentGateway } from '../../test/gateway.ts'
import { openModelAgent } from '../../test/model-agent.ts'
import { replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'

const tools = './tools/shed.ts'

describe('tool_policies', () => {
  test('end the turn with the question, and skip the following calls (E-38)', async () => {
    const calls = [
      { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"where":"here"}' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'recall', arguments: '{}' } },
    ]
    const reply = streamOf([{ role: 'assistant', content: null, tool_calls: calls }], 'tool_calls')
    const config = { tools, tool_policies: { look: 'preview' } }
    const { ask, server } = await openModelAgent([reply, replyWith('never')], { config })
    const { answer } = await ask()
    expect(server.requests).toHaveLength(1)
    expect(answer?.status).toBe('input_required')
    expect(answer?.parts).toMatchObject([
      { kind: 'tool_call', id: 'a', name: 'look' },
      { kind: 'policy', policy: { kind: 'consent_required', code: 'approval:required' } },
    ])
    expect(answer?.parts?.[0]).not.toHaveProperty('result')
  })

  test('ask nobody about an invalid call', async () => {
    const config = { tools, tool_policies: { look: 'preview' } }
    const { ask } = await openModelAgent([respondWithToolCall('look', { where: 1 }), replyWith('Well.')], { config })
    const { answer } = await ask()
    expect(answer?.status).toBeUndefined()
    expect(answer?.parts?.[0]).toMatchObject({ error: { message: expect.stringContaining('where: Invalid input') } })
  })

  test('hide a forbidden tool from the model, and never run it', async () => {
    const config = { tools, tool_policies: { look: 'forbidden' } }
    const { ask, server } = await openModelAgent([respondWithToolCall('look', { where: 'here' }), replyWith('Well.')], {
      config,
    })
    const { answer } = await ask()
    expect(JSON.stringify(server.requests[0]?.body.tools)).not.toContain('"look"')
    expect(answer?.parts?.[0]).toMatchObject({ error: { message: 'There is no such tool.' } })
  })

  test('must name existing tools', async () => {
    const model = { use: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'test-model', tools }
    const opening = openAgentGateway({ shop: { ...model, tool_policies: { lok: 'preview' } } })
    await expect(opening).rejects.toThrow(/^agents\.shop\.tool_policies\.lok: there is no such tool\. Name one of: /)
  })

  const inShed = { properties: { where: { const: 'shed' } }, required: ['where'] }

  test('apply the first entry that matches the arguments, and without one the tool runs', async () => {
    const look = [
      { when: inShed, policy: 'forbidden' },
      { when: { properties: { where: { type: 'string', maxLength: 4 } }, required: ['where'] }, policy: 'preview' },
    ]
    const script = [
      respondWithToolCall('look', { where: 'shed' }),
      respondWithToolCall('look', { where: 'cellar' }),
      respondWithToolCall('look', { where: 'hut' }),
    ]
    const { ask, server } = await openModelAgent(script, { config: { tools, tool_policies: { look } } })
    const { answer } = await ask()
    expect(JSON.stringify(server.requests[0]?.body.tools)).toContain('"look"')
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain('arguments: a call with these is forbidden')
    expect(answer?.status).toBe('input_required')
    expect(answer?.parts).toMatchObject([
      { kind: 'tool_call', error: { message: 'arguments: a call with these is forbidden' } },
      { kind: 'tool_call', result: { found: 'nothing in cellar' } },
      { kind: 'tool_call', args: { where: 'hut' } },
      { kind: 'policy', policy: { kind: 'consent_required' } },
    ])
  })

  test('hide a tool from the model if all entries forbid it', async () => {
    const look = [{ when: inShed, policy: 'forbidden' }, { policy: 'forbidden' }]
    const { ask, server } = await openModelAgent([replyWith('Well.')], { config: { tools, tool_policies: { look } } })
    await ask()
    expect(JSON.stringify(server.requests[0]?.body.tools)).not.toContain('"look"')
  })

  const faulty = [
    [
      { when: { required: ['where'] }, policy: 'preview' },
      '.when: "properties" has no "where", which "required" names',
    ],
    [
      [
        { when: inShed, policy: 'direct' },
        { when: { not: {} }, policy: 'preview' },
      ],
      '.1.when: "not" cannot be checked',
    ],
    [
      [{ policy: 'preview' }, { when: inShed, policy: 'direct' }],
      '.1: it never counts: the entry before it has no "when"',
    ],
    [[], ': Too small'],
  ] as const

  test.each(faulty)('fail the start at the key of an entry that never applies: %j', async (look, problem) => {
    const model = { base_url: 'http://127.0.0.1:1/v1', model: 'test-model' }
    const ruled = { tools, tool_policies: { look } }
    const single = openAgentGateway({ shop: { use: 'openai', ...model, ...ruled } as never })
    await expect(single).rejects.toThrow(`agents.shop.tool_policies.look${problem}`)
    const swarm = { use: 'swarm', model, default_agent: 'one', members: { one: ruled } } as never
    await expect(openAgentGateway({ shop: swarm })).rejects.toThrow(
      `agents.shop.members.one.tool_policies.look${problem}`,
    )
  })
})
