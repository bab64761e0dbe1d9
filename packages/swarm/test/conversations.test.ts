import { type Json, type NormalizedMessage, Rejection } from '@postern/message'
import { describe, expect, it } from 'vitest'
import {
  createNavigateBackTool,
  createNavigateTool,
  createSwarmAgent,
  type ModelAnswer,
  openSwarmClient,
  readSwarmState,
  type SwarmDeps,
  type SwarmSpec,
} from '../src/index.ts'
import { agentSpec, callOf, formatRows, openMemorySwarm, scripted, swarmSpec, toolOf } from './memory-swarm.ts'

describe('the input of a model', () => {
  it('is separate for clients whose ids look like paths (W-32)', async () => {
    const { deps } = openMemorySwarm()
    const ids = ['a', '../a', 'a/../a', 'a:b', '["desk","a"]']
    for (const id of ids) {
      const client = await openSwarmClient(swarmSpec([agentSpec('x', scripted())]), deps, id)
      await client.commits.commitUserMessage(id, 'user', { agentName: 'x' })
    }
    for (const id of ids) {
      const client = await openSwarmClient(swarmSpec([agentSpec('x', scripted())]), deps, id)
      expect((await client.history.listRaw()).map(({ content }) => content)).toEqual([id])
    }
  })

  it('is separate for two swarms whose joined names and ids look the same (W-32)', async () => {
    const { deps } = openMemorySwarm()
    const policies = [{ policyName: 'p', banMessage: 'No.' }]
    const open = (swarmName: string, clientId: string) =>
      openSwarmClient(
        swarmSpec([agentSpec('x', scripted()), agentSpec('y', scripted())], { swarmName, policies }),
        deps,
        clientId,
      )
    const first = await open('desk', 'a/b')
    await first.navigation.changeToAgent('y')
    await first.bans.ban('a/b', 'p')
    const other = await open('desk/a', 'b')
    expect([other.navigation.active, await other.bans.findRefusal('b')]).toEqual(['x', undefined])
    expect((await open('desk', 'a/b')).navigation.active).toBe('y')
  })

  it('has prompts first, own system rows, and the newest shared rows since the last flush (W-12 to W-16)', async () => {
    const { deps } = openMemorySwarm()
    const b = scripted('ok')
    const spec = swarmSpec(
      [agentSpec('a', scripted('ok')), agentSpec('b', b, { keepMessages: 3, systemPrompts: ['extra'] })],
      {
        commonPrompts: ['common'],
      },
    )
    const client = await openSwarmClient(spec, deps, 'c')
    const as = (agentName: string) => ({ agentName, isForced: true })
    await client.commits.commitUserMessage('old', 'user', as('a'))
    await client.commits.commitFlush(as('a'))
    await client.commits.commitSystemMessage('a only', as('a'))
    await client.commits.commitSystemMessage('b only', as('b'))
    await client.commits.commitUserMessage('one', 'user', as('a'))
    const [id = ''] = await client.commits.commitToolRequest([{ toolName: 't', params: {} }], as('a'))
    await client.commits.commitToolOutput(id, 'found', as('a'))
    await client.commits.commitAssistantMessage('two', as('a'))
    await client.navigation.changeToAgent('b')
    await client.complete('three')
    const front = ['system/b:You are b', 'system/b:common', 'system/b:extra', 'system/b:b only']
    expect(formatRows(b.seen[0] ?? [])).toEqual([...front, 'user/a:one', 'assistant/a:two', 'user/b:three'])
    expect(formatRows(await client.history.listRaw())[0]).toBe('user/a:old')
  })

  it('keeps fifteen messages by default (W-15)', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted('ok')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model)]), deps, 'c')
    for (let row = 1; row <= 20; row += 1) await client.commits.commitUserMessage(`m${row}`, 'user', { agentName: 'a' })
    await client.complete('m21')
    const newest = Array.from({ length: 15 }, (_, index) => `user/a:m${index + 7}`)
    expect(formatRows(model.seen[0] ?? [])).toEqual(['system/a:You are a', ...newest])
  })

  it('contains both halves of a call, or none (W-16)', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted('ok', 'ok')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { keepMessages: 3 })]), deps, 'c')
    const own = { agentName: 'a' }
    const [id = ''] = await client.commits.commitToolRequest([{ toolName: 't', params: {} }], own)
    await client.commits.commitToolOutput(id, 'found', own)
    await client.commits.commitAssistantMessage('said', own)
    await client.complete('one')
    expect(formatRows(model.seen[0] ?? [])).toEqual(['system/a:You are a', 'assistant/a:said', 'user/a:one'])
    await client.commits.commitToolRequest([{ toolName: 'open', params: {} }], own)
    await client.complete('two')
    expect(formatRows(model.seen[1] ?? [])).toEqual(['system/a:You are a', 'assistant/a:ok', 'user/a:two'])
    expect(await client.history.listRaw()).toHaveLength(8)
  })

  it('has only the prompts for a limit of 0 messages (W-15)', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted('ok')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { keepMessages: 0 })]), deps, 'c')
    await client.complete('hi')
    expect(formatRows(model.seen[0] ?? [])).toEqual(['system/a:You are a'])
  })
})

describe('a turn', () => {
  it('runs a tool and continues with its result', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted(callOf('look'), messages => ({ content: `it says ${messages.at(-1)?.content}` }))
    const look = toolOf('look', context => context.commitToolOutput('42'))
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { tools: [look] })]), deps, 'c')
    expect(await client.complete('hi')).toBe('it says 42')
    expect(formatRows(await client.history.listRaw())).toEqual([
      'user/a:hi',
      'assistant/a:',
      'tool/a:42',
      'assistant/a:it says 42',
    ])
    expect((await client.history.listUser()).map(({ content }) => content)).toEqual(['hi'])
  })

  it('ends a failed tool’s call, and the model learns of it', async () => {
    const { deps, warnings } = openMemorySwarm()
    const model = scripted(callOf('look'), messages => ({ content: messages.at(-1)?.content ?? '' }))
    const look = toolOf('look', () => Promise.reject(new Error('secret detail')))
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { tools: [look] })]), deps, 'c')
    expect(await client.complete('hi')).toBe('The tool failed.')
    expect(warnings).toEqual(['a tool of the swarm failed'])
  })

  it('reports two calls with one id to the caller, and keeps the history unchanged (W-07)', async () => {
    const { deps } = openMemorySwarm()
    const twins = {
      content: '',
      tool_calls: [...(callOf('look').tool_calls ?? []), ...(callOf('look').tool_calls ?? [])],
    }
    const client = await openSwarmClient(
      swarmSpec([agentSpec('a', scripted(twins, 'fine'), { tools: [toolOf('look', async () => {})] })]),
      deps,
      'c',
    )
    await expect(client.complete('hi')).rejects.toThrow(
      new Rejection('malformed', 'Cannot run tools: two calls of one answer have one id'),
    )
    expect(formatRows(await client.history.listRaw())).toEqual(['user/a:hi'])
    expect(await client.complete('again')).toBe('fine')
  })

  it('runs as many calls of an answer as the agent allows, one by default', async () => {
    const { deps } = openMemorySwarm()
    const ran: string[] = []
    const two = { content: '', tool_calls: ['1', '2'].flatMap(id => callOf('look', {}, id).tool_calls ?? []) }
    const look = toolOf('look', async context => {
      ran.push(context.toolId)
      await context.commitToolOutput('x')
    })
    const client = await openSwarmClient(
      swarmSpec([agentSpec('a', scripted(two, 'done'), { tools: [look] })]),
      deps,
      'c',
    )
    await client.complete('hi')
    expect(ran).toEqual(['1'])
    const furtherClient = await openSwarmClient(
      swarmSpec([agentSpec('a', scripted(two, 'done'), { tools: [look], maxToolCalls: 2 })]),
      deps,
      'd',
    )
    await furtherClient.complete('hi')
    expect(ran).toEqual(['1', '1', '2'])
  })

  it('waits for an earlier one of two simultaneous messages (W-28)', async () => {
    const { deps } = openMemorySwarm()
    let isRunning = false
    const answer = (text: string) => async () => {
      expect(isRunning).toBe(false)
      isRunning = true
      await new Promise(resolve => setImmediate(resolve))
      isRunning = false
      return { content: text }
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', scripted(answer('one'), answer('two')))]), deps, 'c')
    const both = Promise.all([client.complete('1'), client.complete('2')])
    expect(await both).toEqual(['one', 'two'])
    expect(client.isBusy).toBe(false)
    expect(formatRows(await client.history.listRaw())).toEqual([
      'user/a:1',
      'assistant/a:one',
      'user/a:2',
      'assistant/a:two',
    ])
  })

  it('drops late results of a cancelled answer (W-29)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const late = Promise.withResolvers<ModelAnswer>()
    const asked = Promise.withResolvers<void>()
    const slow = () => {
      asked.resolve()
      return late.promise
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', scripted(slow, 'fresh'))]), deps, 'c')
    const first = client.complete('slow one')
    await asked.promise
    expect(client.isBusy).toBe(true)
    await client.cancelOutput()
    expect(await first).toBe('')
    const second = client.complete('next')
    late.resolve({ content: 'too late' })
    expect(await second).toBe('fresh')
    await bus.drain()
    expect(formatRows(await client.history.listRaw())).toEqual(['user/a:slow one', 'user/a:next', 'assistant/a:fresh'])
    expect(events.filter(({ type }) => type === 'emit-output').map(({ output }) => output.result)).toEqual(['fresh'])
  })

  it('leaves no row if it is stateless, and only its caller gets the result (W-30)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const model = scripted('pong')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model)]), deps, 'c')
    events.length = 0
    expect(await client.runStateless('ping')).toBe('pong')
    await bus.drain()
    expect(await client.history.listRaw()).toEqual([])
    expect(events.map(({ source, type, input, output }) => [source, type, input, output])).toEqual(
      ['agent-bus', 'session-bus'].map(source => [source, 'run', { message: 'ping' }, { result: 'pong' }]),
    )
    expect(formatRows(model.seen[0] ?? [])).toEqual(['system/a:You are a', 'user/a:ping'])
  })

  it('sends every output to a connected receiver until it leaves', async () => {
    const { deps, bus } = openMemorySwarm()
    const client = await openSwarmClient(swarmSpec([agentSpec('a', scripted('one', 'two'))]), deps, 'c')
    const got: unknown[] = []
    const leave = client.connect(message => void got.push(message))
    await client.complete('hi')
    await client.emit('by the way')
    await bus.drain()
    leave()
    await client.complete('hi')
    await bus.drain()
    expect(got).toEqual(['one', 'by the way'].map(data => ({ clientId: 'c', data, agentName: 'a' })))
  })
})

describe('the rescue of an answer', () => {
  const texts = { placeholders: ['Pardon?'] }

  it.each([
    ['nothing', ''],
    ['markup', '<tool_call>{"name":"x"}</tool_call>'],
    ['a call in JSON', '{"name": "look", "arguments": {}}'],
    ['an unknown tool', callOf('nope')],
  ] as const)('starts for %s, and the user gets an answer (W-25)', async (_, bad) => {
    const { deps } = openMemorySwarm()
    const model = scripted(bad, 'Hello!')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model)], { texts }), deps, 'c')
    expect(await client.complete('hi')).toBe('Hello!')
    const rows = await client.history.listRaw()
    expect(rows.map(({ role, mode }) => `${role}/${mode}`)).toEqual([
      'user/user',
      'resque/tool',
      'user/tool',
      'assistant/tool',
    ])
    expect(rows[1]?.content).not.toBe('')
    expect(model.seen[1]?.map(({ content }) => content)).toEqual(['You are a', rows[2]?.content])
    expect(rows[2]?.content).toContain('hi')
  })

  it('starts for braces if the swarm looks for them (W-25)', async () => {
    const { deps } = openMemorySwarm()
    const answers = ['Here: {"a":1}', 'Hello!']
    const open = (id: string, overrides: Partial<SwarmSpec>) =>
      openSwarmClient(swarmSpec([agentSpec('a', scripted(...answers))], overrides), deps, id)
    expect(await (await open('strict', { answerChecks: ['markup', 'braces'] })).complete('hi')).toBe('Hello!')
    expect(await (await open('by default', {})).complete('hi')).toBe('Here: {"a":1}')
    expect(await (await open('none', { answerChecks: [] })).complete('hi')).toBe('Here: {"a":1}')
  })

  it('gives the user a placeholder instead of raw markup if it fails too (W-25)', async () => {
    const { deps } = openMemorySwarm()
    const custom = async () => ({ content: '<tool_call>' })
    for (const rescue of ['flush', 'recomplete', 'custom'] as const) {
      const model = scripted('{', '}', '{')
      const spec = swarmSpec([agentSpec('a', model, { rescue, customRescue: custom })], { texts })
      const client = await openSwarmClient(spec, deps, rescue)
      expect(await client.complete('hi')).toBe('Pardon?')
    }
  })

  it('asks again with the same history with recomplete', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted('', 'Hello!')
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { rescue: 'recomplete' })]), deps, 'c')
    expect(await client.complete('hi')).toBe('Hello!')
    expect(model.seen[1]).toEqual(model.seen[0])
  })
})

describe('navigation between agents', () => {
  async function openThree(deps: SwarmDeps, overrides: Partial<SwarmSpec> = {}) {
    const agents = ['D', 'A', 'B'].map(name => agentSpec(name, scripted('ok')))
    return await openSwarmClient(swarmSpec(agents, overrides), deps, 'c')
  }

  it('refuses an agent outside of the swarm (W-18)', async () => {
    const { deps, warnings } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    expect(await navigation.changeToAgent('Z')).toBe(false)
    expect(navigation.active).toBe('D')
    expect(warnings).toEqual(['an agent outside of the swarm was asked for'])
  })

  it('refuses the same agent twice in a turn, but allows it in a new message, and the way back always (W-19)', async () => {
    const { deps } = openMemorySwarm()
    const client = await openThree(deps)
    const { navigation } = client
    expect(await navigation.changeToAgent('B')).toBe(true)
    expect(await navigation.changeToDefault()).toBe(true)
    await expect(navigation.changeToAgent('B')).rejects.toThrow(
      new Rejection('forbidden', 'Cannot change agent: recursion within one turn'),
    )
    expect(navigation.active).toBe('D')
    expect(await navigation.changeToPrevious()).toBe(true)
    expect(navigation.active).toBe('B')
    await client.complete('next')
    expect(await navigation.changeToAgent('B')).toBe(true)
  })

  it('returns false for the same agent if configured (W-19)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps, { throwsOnRecursion: false })
    await navigation.changeToAgent('A')
    expect(await navigation.changeToAgent('A')).toBe(false)
  })

  it('goes back down the stack to the default, and then nowhere (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    await navigation.changeToAgent('A')
    await navigation.changeToAgent('B')
    const steps = []
    for (let step = 0; step < 3; step += 1) steps.push([await navigation.changeToPrevious(), navigation.active])
    expect(steps).toEqual([
      [true, 'A'],
      [true, 'D'],
      [false, 'D'],
    ])
  })

  it('remembers the last hundred steps of many hand-overs (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    for (let turn = 0; turn < 120; turn += 1) {
      await navigation.beginTurn()
      await navigation.changeToAgent(turn % 2 === 0 ? 'A' : 'B')
    }
    expect([navigation.stack.length, navigation.stack.at(-1)]).toEqual([100, 'B'])
  })

  it('never returns to a removed agent (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    await navigation.changeToAgent('A')
    await navigation.changeToAgent('B')
    const two = swarmSpec([agentSpec('D', scripted('D here')), agentSpec('B', scripted('B here'))])
    const client = await openSwarmClient(two, deps, 'c')
    expect(client.navigation.active).toBe('B')
    expect(await client.navigation.changeToPrevious()).toBe(true)
    expect([client.navigation.active, client.navigation.stack]).toEqual(['D', []])
    expect(await client.complete('hi')).toBe('D here')
  })

  it('goes back to a new default with an empty stack, and then nowhere (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const before = (await openThree(deps)).navigation
    await before.changeToAgent('A')
    await before.changeToPrevious()
    const { navigation } = await openThree(deps, { defaultAgent: 'B' })
    expect([navigation.active, navigation.stack]).toEqual(['D', []])
    expect([await navigation.changeToPrevious(), navigation.active]).toEqual([true, 'B'])
    expect([await navigation.changeToPrevious(), navigation.active]).toEqual([false, 'B'])
  })

  it('also goes back from the default after a hand-over to it (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    await navigation.changeToDefault()
    expect(navigation.stack).toEqual(['D'])
    expect([await navigation.changeToPrevious(), navigation.stack]).toEqual([true, []])
    expect(await navigation.changeToPrevious()).toBe(false)
  })

  it('ends its call, changes the agent and lets it answer, with one answer for the user (W-21)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const b = scripted(messages => ({ content: `refunding: ${messages.at(-1)?.content}` }))
    const spec = swarmSpec([
      agentSpec('triage', scripted(callOf('navigate_to_refunds')), { tools: [createNavigateTool({ to: 'refunds' })] }),
      agentSpec('refunds', b),
    ])
    const client = await openSwarmClient(spec, deps, 'c')
    expect(await client.complete('my money')).toBe('refunding: my money')
    await bus.drain()
    const types = events.filter(({ source }) => source !== 'session-bus').map(({ type }) => type)
    const order = ['commit-tool-request', 'commit-stop-tools', 'commit-tool-output', 'set-agent-name', 'emit-output']
    expect(types.filter(type => order.includes(type))).toEqual(order)
    expect(types.filter(type => type === 'commit-agent-change')).toHaveLength(2)
    expect(formatRows(await client.history.listRaw())).toEqual([
      'user/triage:my money',
      'assistant/triage:',
      'tool/triage:Navigated from triage to refunds',
      'user/refunds:my money',
      'assistant/refunds:refunding: my money',
    ])
    expect((await client.history.listRaw())[2]?.tool_call_id).toBe('id-navigate_to_refunds')
  })

  it('returns to the previous agent by a tool, and finally asks to repeat (W-20)', async () => {
    const { deps } = openMemorySwarm()
    const back = () => callOf('navigate_back')
    const tools = [createNavigateBackTool()]
    const spec = swarmSpec([
      agentSpec('D', scripted('D is back', back()), { tools }),
      agentSpec('A', scripted(back()), { tools }),
      agentSpec('B', scripted(back()), { tools }),
    ])
    const client = await openSwarmClient(spec, deps, 'c')
    await client.navigation.changeToAgent('A')
    await client.navigation.changeToAgent('B')
    expect(await client.complete('hi')).toBe('D is back')
    expect([client.navigation.active, client.navigation.stack]).toEqual(['D', []])
    expect(formatRows(await client.history.listRaw()).filter(row => row.startsWith('tool'))).toEqual([
      'tool/B:Navigated back from B',
      'tool/A:Navigated back from A',
    ])
    expect(await client.complete('hi')).toBe('Please repeat what you would like.')
  })

  it('clears the history and asks the user to repeat if it fails (W-21)', async () => {
    const { deps } = openMemorySwarm()
    const spec = swarmSpec([
      agentSpec('triage', scripted(callOf('go')), { tools: [createNavigateTool({ to: 'nobody', name: 'go' })] }),
    ])
    const client = await openSwarmClient(spec, deps, 'c')
    expect(await client.complete('hi')).toBe('Please repeat what you would like.')
    expect((await client.history.listRaw()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'flush',
      'assistant',
    ])
  })

  it('shows the active agent and the stack in a chat, and each change (W-31)', async () => {
    const { deps } = openMemorySwarm()
    const { navigation } = await openThree(deps)
    const before = readSwarmState(navigation)
    expect(before).toEqual({ activeAgent: 'D', navigationStack: [] })
    await navigation.changeToAgent('A')
    expect(readSwarmState(navigation)).toEqual({ activeAgent: 'A', navigationStack: ['A'] })
  })

  it('keeps the active agent, the stack and the history over a restart (W-22)', async () => {
    const { deps } = openMemorySwarm()
    const before = await openThree(deps)
    await before.navigation.changeToAgent('A')
    const meanwhile = await openThree(deps)
    expect([meanwhile.navigation.active, meanwhile.navigation.stack]).toEqual(['A', ['A']])
    await before.complete('hi')
    const after = await openThree(deps)
    expect([after.navigation.active, after.navigation.stack]).toEqual(['A', ['A']])
    expect(formatRows(await after.history.listRaw())).toEqual(['user/A:hi', 'assistant/A:ok'])
  })
})

describe('operators and policies of a swarm', () => {
  it('let a human answer for an agent (W-26)', async () => {
    const { deps } = openMemorySwarm()
    const asked: unknown[] = []
    const operator = {
      async ask({ message, agentName }: { message: string; agentName: string }) {
        asked.push([agentName, message])
        return 'A human here.'
      },
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('desk', scripted(), { operator })]), deps, 'c')
    expect(await client.complete('help')).toBe('A human here.')
    expect(asked).toEqual([['desk', 'help']])
  })

  it('give the user a message after 90 seconds without an answer, and drop a later answer (W-26)', async () => {
    const { deps, pass } = openMemorySwarm()
    const asked = Promise.withResolvers<AbortSignal>()
    const late = Promise.withResolvers<string>()
    const operator = {
      ask({ signal }: { signal: AbortSignal }) {
        asked.resolve(signal)
        return late.promise
      },
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('desk', scripted(), { operator })]), deps, 'c')
    const answer = client.complete('help')
    const signal = await asked.promise
    pass(89_999)
    await new Promise(resolve => setImmediate(resolve))
    expect(signal.aborted).toBe(false)
    pass(1)
    expect(await answer).toBe('Nobody is there to answer right now. Please try again later.')
    expect(signal.aborted).toBe(true)
    late.resolve('sorry, lunch')
    await late.promise
    expect(await client.history.listRaw()).toHaveLength(2)
  })

  it('give a banned client the fixed refusal without a model call, and listeners one ban event (W-27)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const model = scripted('hello')
    const policy = {
      policyName: 'manners',
      banMessage: 'We do not talk.',
      bansOnRefusal: true,
      validateInput: (message: string) => message !== 'rude',
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model)], { policies: [policy] }), deps, 'c')
    expect(await client.complete('rude')).toBe('We do not talk.')
    expect(await client.complete('sorry')).toBe('We do not talk.')
    await client.bans.ban('c', 'manners')
    expect(model.seen).toEqual([])
    await bus.drain()
    const types = events.filter(({ source }) => source === 'policy-bus').map(({ type }) => type)
    expect(types).toEqual(['validate-input', 'ban-client'])
    await client.bans.unban('c', 'manners')
    expect(await client.complete('sorry')).toBe('hello')
  })

  it('hold back an answer that a policy refuses', async () => {
    const { deps } = openMemorySwarm()
    const policy = {
      policyName: 'p',
      banMessage: 'No.',
      validateOutput: (message: string) => !message.includes('secret'),
    }
    const client = await openSwarmClient(
      swarmSpec([agentSpec('a', scripted('the secret is'))], { policies: [policy] }),
      deps,
      'c',
    )
    expect(await client.complete('hi')).toBe('No.')
    expect(JSON.stringify(await client.history.listRaw())).not.toContain('secret')
  })
})

describe('createSwarmAgent()', () => {
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  const message = (text: string, thread_id = 'same'): NormalizedMessage => ({
    id: `m-${text}`,
    thread_id,
    sender: { address: '@ann@social.example', auth_method: 'none', verified: false },
    recipient: '@desk@host.example',
    parts: [
      { kind: 'text', mime: 'text/plain', content: text },
      {
        kind: 'file',
        mime: 'image/png',
        bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64) },
      },
    ],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'web',
    received_at: '2026-03-13T10:00:00.000Z',
    raw: null,
  })
  function contextOf() {
    let value: Json | undefined
    const state = {
      get: async () => value,
      set(next: Json) {
        value = next
      },
    }
    return { signal: new AbortController().signal, state, attachment: async () => ({ bytes: new Uint8Array(png) }) }
  }

  it('lets triage hand over, and the specialist still answers the next message (W-21, W-22)', async () => {
    const { deps } = openMemorySwarm()
    const refunds = scripted('Which order?', 'Done.')
    const triage = agentSpec('triage', scripted(callOf('navigate_to_refunds')), {
      tools: [createNavigateTool({ to: 'refunds' })],
    })
    const store = createSwarmAgent(swarmSpec([triage, agentSpec('refunds', refunds)]), deps)
    const context = contextOf()
    expect(await store.handle(message('money back'), context)).toBe('Which order?')
    expect(await store.handle(message('order 7'), context)).toBe('Done.')
    const last = refunds.seen[1]?.at(-1)
    expect(last).toMatchObject({
      content: 'order 7',
      images: [png.toString('base64')],
      payload: { message_id: 'm-order 7', sender: '@ann@social.example' },
    })
    expect(refunds.seen[1]?.map(({ content }) => content)).toContain('Which order?')
  })

  it('separates two conversations with one name', async () => {
    const { deps } = openMemorySwarm()
    const model = scripted('one', 'two')
    const store = createSwarmAgent(swarmSpec([agentSpec('a', model)]), deps)
    await store.handle(message('my secret'), contextOf())
    await store.handle(message('hello'), contextOf())
    expect(JSON.stringify(model.seen[1])).not.toContain('my secret')
  })

  it('ends a turn with its reason and without text when the gateway gives it up', async () => {
    const { deps } = openMemorySwarm()
    const stop = new AbortController()
    const model = scripted(async () => {
      stop.abort(new Error('shutting down'))
      return { content: 'too late' }
    })
    const store = createSwarmAgent(swarmSpec([agentSpec('a', model)]), deps)
    await expect(store.handle(message('hi'), { ...contextOf(), signal: stop.signal })).rejects.toThrow('shutting down')
  })
})
