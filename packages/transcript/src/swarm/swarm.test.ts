import { type Json, type NormalizedMessage, Rejection } from '@postern/core'
import { describe, expect, it } from 'vitest'
import {
  type AgentSpec,
  type BusEvent,
  createMemoryShelf,
  createMemoryTranscript,
  createNavigateTool,
  createSwarmAgent,
  createSwarmBus,
  diffSwarmState,
  type ModelAnswer,
  openSwarmClient,
  readSwarmState,
  type SwarmDeps,
  type SwarmMessage,
  type SwarmSpec,
  type SwarmTool,
  type ToolContext,
} from '../index.ts'

type Script = (ModelAnswer | string | ((messages: readonly SwarmMessage[]) => ModelAnswer | Promise<ModelAnswer>))[]

const callOf = (name: string, args: Record<string, never> = {}, id = `id-${name}`): ModelAnswer => ({
  content: '',
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})

function scripted(...script: Script) {
  const seen: (readonly SwarmMessage[])[] = []
  return {
    seen,
    async complete(messages: readonly SwarmMessage[]): Promise<ModelAnswer> {
      seen.push(messages)
      const next = script.shift() ?? 'nothing left'
      if (typeof next === 'function') return await next(messages)
      return typeof next === 'string' ? { content: next } : next
    },
  }
}

function toolOf(name: string, call: (context: ToolContext) => Promise<void>): SwarmTool {
  return { name, description: name, parameters: {}, call }
}

function openRoom() {
  let time = 1_700_000_000_000
  let seed = 0
  const sleepers: { until: number; wake: () => void }[] = []
  const warnings: string[] = []
  const world: SwarmDeps['world'] = {
    now: () => time,
    randomBytes(size) {
      seed += 1
      return Uint8Array.from({ length: size }, (_, index) => (seed >> (8 * (index % 3))) & 255)
    },
    sleep: (ms, signal) =>
      new Promise(resolve => {
        sleepers.push({ until: time + ms, wake: resolve })
        signal?.addEventListener('abort', () => resolve())
      }),
    log: { warn: (_, text) => warnings.push(text) },
  }
  const bus = createSwarmBus({ log: world.log })
  const events: BusEvent[] = []
  bus.listen(event => void events.push(event))
  const deps: SwarmDeps = {
    transcript: createMemoryTranscript(world),
    shelf: createMemoryShelf(),
    bus,
    world,
    owner: 'ann',
  }
  function pass(ms: number): void {
    time += ms
    for (const { until, wake } of sleepers) if (until <= time) wake()
  }
  return { deps, bus, events, warnings, pass }
}

const agent = (agentName: string, model: AgentSpec['model'], rest: Partial<AgentSpec> = {}): AgentSpec => ({
  agentName,
  prompt: `You are ${agentName}`,
  model,
  ...rest,
})
const swarm = (agents: readonly AgentSpec[], rest: Partial<SwarmSpec> = {}): SwarmSpec => ({
  swarmName: 'desk',
  agents,
  defaultAgent: agents[0]?.agentName ?? '',
  ...rest,
})
const say = (rows: readonly SwarmMessage[]) =>
  rows.map(({ role, agentName, content }) => `${role}/${agentName}:${content}`)

describe('commits and the bus', () => {
  async function openClient() {
    const room = openRoom()
    const client = await openSwarmClient(swarm([agent('a', scripted()), agent('b', scripted())]), room.deps, 'client')
    await room.bus.drain()
    room.events.length = 0
    return { ...room, client }
  }

  it('W-08: every commit stores its row and then tells its event', async () => {
    const { client, events, bus } = await openClient()
    const own = { agentName: 'a' }
    await client.commits.commitUserMessage('u', 'user', { ...own, payload: { image_id: 'i' } })
    await client.commits.commitAssistantMessage('as', own)
    await client.commits.commitSystemMessage('s', own)
    await client.commits.commitDeveloperMessage('d', own)
    const [id = ''] = await client.commits.commitToolRequest([{ toolName: 't', params: { a: 1 } }], own)
    await client.commits.commitToolOutput(id, 'out', own)
    await client.commits.commitFlush(own)
    await client.commits.commitStopTools(own)
    await client.commits.commitCancelOutput(own)
    await bus.drain()
    const rows = await client.history.listRaw()
    expect(rows.map(({ role, mode }) => [role, mode])).toEqual([
      ['user', 'user'],
      ['assistant', 'tool'],
      ['system', 'tool'],
      ['developer', 'tool'],
      ['assistant', 'tool'],
      ['tool', 'tool'],
      ['flush', 'tool'],
    ])
    expect(rows[0]?.payload).toEqual({ image_id: 'i' })
    expect(rows[4]?.tool_calls).toEqual([{ id, type: 'function', function: { name: 't', arguments: { a: 1 } } }])
    expect(rows[5]?.tool_call_id).toBe(id)
    expect(events.filter(({ source }) => source === 'agent-bus').map(({ type, input }) => [type, input])).toEqual([
      ['commit-user-message', { message: 'u' }],
      ['commit-assistant-message', { message: 'as' }],
      ['commit-system-message', { message: 's' }],
      ['commit-developer-message', { message: 'd' }],
      ['commit-tool-request', { request: [{ toolName: 't', params: { a: 1 } }] }],
      ['commit-tool-output', { toolId: id, content: 'out' }],
      ['commit-flush', {}],
      ['commit-stop-tools', {}],
      ['commit-cancel-output', {}],
    ])
  })

  it('W-08: a payload stays with what a user says, and goes with nothing else', async () => {
    const { client } = await openClient()
    await client.commits.commitUserMessage('u', 'tool', { agentName: 'a', payload: { a: 1 } })
    expect((await client.history.listRaw())[0]).not.toHaveProperty('payload')
  })

  it('W-09: what the store refuses is told to the caller and to nobody else', async () => {
    const { deps, bus, events } = openRoom()
    const broken = { ...deps.transcript, append: () => Promise.reject(new Error('disk full')) }
    const client = await openSwarmClient(swarm([agent('a', scripted())]), { ...deps, transcript: broken }, 'c')
    await expect(client.commits.commitAssistantMessage('x', { agentName: 'a' })).rejects.toThrow('disk full')
    await bus.drain()
    expect(events.map(({ type }) => type)).toEqual(['connect'])
  })

  it('W-10: an event has all six fields, its agent and its client', async () => {
    const { client, events, bus } = await openClient()
    await client.commits.commitFlush({ agentName: 'a' })
    await bus.drain()
    expect(events.at(-1)).toEqual({
      type: 'commit-flush',
      source: 'agent-bus',
      input: {},
      output: {},
      context: { agentName: 'a', swarmName: 'desk' },
      clientId: 'client',
    })
  })

  it('W-11: a listener has its client’s events in order, one at a time, and one that throws harms nobody', async () => {
    const { bus, warnings } = openRoom()
    const told: string[] = []
    let running = 0
    const release: (() => void)[] = []
    bus.listen(() => {
      throw new Error('bad listener')
    })
    const stop = bus.listen(
      async ({ type }) => {
        running += 1
        expect(running).toBe(1)
        await new Promise<void>(resolve => release.push(resolve))
        told.push(type)
        running -= 1
      },
      { clientId: 'A' },
    )
    const all: string[] = []
    bus.listen(({ type, clientId }) => void all.push(`${clientId} ${type}`))
    const once: string[] = []
    bus.listen(({ type }) => void once.push(type), { isOnce: true, filter: ({ type }) => type === 'two' })
    for (const [clientId, type] of [
      ['A', 'one'],
      ['B', 'two'],
      ['A', 'two'],
      ['A', 'three'],
    ] as const) {
      bus.emit({ type, source: 'agent-bus', clientId })
    }
    const drained = bus.drain()
    while (told.length < 3) {
      release.shift()?.()
      await Promise.resolve()
    }
    await drained
    stop()
    bus.emitCustom('A', 'my-bus', { payload: 1 })
    await bus.drain()
    expect(told).toEqual(['one', 'two', 'three'])
    expect(all).toEqual(['A one', 'B two', 'A two', 'A three', 'A my-bus'])
    expect(once).toEqual(['two'])
    expect(warnings).toHaveLength(5)
  })

  it('W-17: a commit of an agent that is no longer active is skipped, and forced it is not', async () => {
    const { client } = await openClient()
    await client.navigation.changeToAgent('b')
    expect(await client.commits.commitAssistantMessage('late', { agentName: 'a' })).toBe(false)
    expect(await client.commits.commitAssistantMessage('forced', { agentName: 'a', isForced: true })).toBe(true)
    expect(say(await client.history.listRaw())).toEqual(['assistant/a:forced'])
  })

  it('W-32: clients whose ids look like paths share nothing', async () => {
    const { deps } = openRoom()
    const ids = ['a', '../a', 'a/../a', 'a:b', '["desk","a"]']
    for (const id of ids) {
      const client = await openSwarmClient(swarm([agent('x', scripted())]), deps, id)
      await client.commits.commitUserMessage(id, 'user', { agentName: 'x' })
    }
    for (const id of ids) {
      const client = await openSwarmClient(swarm([agent('x', scripted())]), deps, id)
      expect((await client.history.listRaw()).map(({ content }) => content)).toEqual([id])
    }
  })
})

describe('what a model is given', () => {
  it('W-12 to W-16: prompts in front, own system rows, the newest shared rows since the last flush', async () => {
    const { deps } = openRoom()
    const b = scripted('ok')
    const spec = swarm([agent('a', scripted('ok')), agent('b', b, { keepMessages: 3, systemPrompts: ['extra'] })], {
      commonPrompts: ['common'],
    })
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
    expect(say(b.seen[0] ?? [])).toEqual([...front, 'user/a:one', 'assistant/a:two', 'user/b:three'])
    expect(say(await client.history.listRaw())[0]).toBe('user/a:old')
  })

  it('W-15: 0 messages are none, and the prompts are there', async () => {
    const { deps } = openRoom()
    const model = scripted('ok')
    const client = await openSwarmClient(swarm([agent('a', model, { keepMessages: 0 })]), deps, 'c')
    await client.complete('hi')
    expect(say(model.seen[0] ?? [])).toEqual(['system/a:You are a'])
  })
})

describe('turns', () => {
  it('runs a tool and goes on with its result', async () => {
    const { deps } = openRoom()
    const model = scripted(callOf('look'), messages => ({ content: `it says ${messages.at(-1)?.content}` }))
    const look = toolOf('look', context => context.commitToolOutput('42'))
    const client = await openSwarmClient(swarm([agent('a', model, { tools: [look] })]), deps, 'c')
    expect(await client.complete('hi')).toBe('it says 42')
    expect(say(await client.history.listRaw())).toEqual([
      'user/a:hi',
      'assistant/a:',
      'tool/a:42',
      'assistant/a:it says 42',
    ])
    expect((await client.history.listUser()).map(({ content }) => content)).toEqual(['hi'])
  })

  it('a tool that fails has an end, and the model is told', async () => {
    const { deps, warnings } = openRoom()
    const model = scripted(callOf('look'), messages => ({ content: messages.at(-1)?.content ?? '' }))
    const look = toolOf('look', () => Promise.reject(new Error('secret detail')))
    const client = await openSwarmClient(swarm([agent('a', model, { tools: [look] })]), deps, 'c')
    expect(await client.complete('hi')).toBe('The tool failed.')
    expect(warnings).toEqual(['a tool of the swarm failed'])
  })

  it('W-07: two calls of one id are an error to the caller, and the history is unharmed', async () => {
    const { deps } = openRoom()
    const twins = {
      content: '',
      tool_calls: [...(callOf('look').tool_calls ?? []), ...(callOf('look').tool_calls ?? [])],
    }
    const client = await openSwarmClient(
      swarm([agent('a', scripted(twins, 'fine'), { tools: [toolOf('look', async () => {})] })]),
      deps,
      'c',
    )
    await expect(client.complete('hi')).rejects.toThrow(
      new Rejection('malformed', 'Cannot run tools: two calls of one answer have one id'),
    )
    expect(say(await client.history.listRaw())).toEqual(['user/a:hi'])
    expect(await client.complete('again')).toBe('fine')
  })

  it('runs as many calls of an answer as the agent may, one by default', async () => {
    const { deps } = openRoom()
    const ran: string[] = []
    const two = { content: '', tool_calls: ['1', '2'].flatMap(id => callOf('look', {}, id).tool_calls ?? []) }
    const look = toolOf('look', async context => {
      ran.push(context.toolId)
      await context.commitToolOutput('x')
    })
    const client = await openSwarmClient(swarm([agent('a', scripted(two, 'done'), { tools: [look] })]), deps, 'c')
    await client.complete('hi')
    expect(ran).toEqual(['1'])
    const more = await openSwarmClient(
      swarm([agent('a', scripted(two, 'done'), { tools: [look], maxToolCalls: 2 })]),
      deps,
      'd',
    )
    await more.complete('hi')
    expect(ran).toEqual(['1', '1', '2'])
  })

  it('W-28: two messages at once are answered one after the other', async () => {
    const { deps } = openRoom()
    let isRunning = false
    const answer = (text: string) => async () => {
      expect(isRunning).toBe(false)
      isRunning = true
      await new Promise(resolve => setImmediate(resolve))
      isRunning = false
      return { content: text }
    }
    const client = await openSwarmClient(swarm([agent('a', scripted(answer('one'), answer('two')))]), deps, 'c')
    const both = Promise.all([client.complete('1'), client.complete('2')])
    expect(await both).toEqual(['one', 'two'])
    expect(client.isBusy).toBe(false)
    expect(say(await client.history.listRaw())).toEqual(['user/a:1', 'assistant/a:one', 'user/a:2', 'assistant/a:two'])
  })

  it('W-29: what comes of a cancelled answer later reaches nobody, and is no answer to what follows', async () => {
    const { deps, bus, events } = openRoom()
    const late = Promise.withResolvers<ModelAnswer>()
    const asked = Promise.withResolvers<void>()
    const slow = () => {
      asked.resolve()
      return late.promise
    }
    const client = await openSwarmClient(swarm([agent('a', scripted(slow, 'fresh'))]), deps, 'c')
    const first = client.complete('slow one')
    await asked.promise
    expect(client.isBusy).toBe(true)
    await client.cancelOutput()
    expect(await first).toBe('')
    const second = client.complete('next')
    late.resolve({ content: 'too late' })
    expect(await second).toBe('fresh')
    await bus.drain()
    expect(say(await client.history.listRaw())).toEqual(['user/a:slow one', 'user/a:next', 'assistant/a:fresh'])
    expect(events.filter(({ type }) => type === 'emit-output').map(({ output }) => output.result)).toEqual(['fresh'])
  })

  it('W-30: a stateless run leaves no row, and tells its run alone', async () => {
    const { deps, bus, events } = openRoom()
    const model = scripted('pong')
    const client = await openSwarmClient(swarm([agent('a', model)]), deps, 'c')
    events.length = 0
    expect(await client.runStateless('ping')).toBe('pong')
    await bus.drain()
    expect(await client.history.listRaw()).toEqual([])
    expect(
      events.filter(({ type }) => type !== 'connect').map(({ type, input, output }) => [type, input, output]),
    ).toEqual([['run', { message: 'ping' }, { result: 'pong' }]])
    expect(say(model.seen[0] ?? [])).toEqual(['system/a:You are a', 'user/a:ping'])
  })

  it('gives every output to who is connected, until he leaves', async () => {
    const { deps, bus } = openRoom()
    const client = await openSwarmClient(swarm([agent('a', scripted('one', 'two'))]), deps, 'c')
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

describe('rescue', () => {
  const texts = { placeholders: ['Pardon?'] }

  it.each([
    ['nothing', ''],
    ['markup', '<tool_call>{"name":"x"}</tool_call>'],
    ['braces', 'Here: {"a":1}'],
    ['an unknown tool', callOf('nope')],
  ] as const)('W-25: %s starts the strategy, and the user gets an answer', async (_, bad) => {
    const { deps } = openRoom()
    const model = scripted(bad, 'Hello!')
    const client = await openSwarmClient(swarm([agent('a', model)], { texts }), deps, 'c')
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

  it('W-25: where the strategy fails, too, there is a placeholder and never raw markup', async () => {
    const { deps } = openRoom()
    const custom = async () => ({ content: '<tool_call>' })
    for (const rescue of ['flush', 'recomplete', 'custom'] as const) {
      const model = scripted('{', '}', '{')
      const spec = swarm([agent('a', model, { rescue, customRescue: custom })], { texts })
      const client = await openSwarmClient(spec, deps, rescue)
      expect(await client.complete('hi')).toBe('Pardon?')
    }
  })

  it('recomplete asks again with the same history', async () => {
    const { deps } = openRoom()
    const model = scripted('', 'Hello!')
    const client = await openSwarmClient(swarm([agent('a', model, { rescue: 'recomplete' })]), deps, 'c')
    expect(await client.complete('hi')).toBe('Hello!')
    expect(model.seen[1]).toEqual(model.seen[0])
  })
})

describe('navigation', () => {
  async function openThree(deps: SwarmDeps, rest: Partial<SwarmSpec> = {}) {
    const agents = ['D', 'A', 'B'].map(name => agent(name, scripted('ok')))
    return await openSwarmClient(swarm(agents, rest), deps, 'c')
  }

  it('W-18: an agent outside of the swarm is refused', async () => {
    const { deps, warnings } = openRoom()
    const { navigation } = await openThree(deps)
    expect(await navigation.changeToAgent('Z')).toBe(false)
    expect(navigation.active).toBe('D')
    expect(warnings).toEqual(['an agent outside of the swarm was asked for'])
  })

  it('W-19: the same agent twice in a turn is a recursion; a new message allows it again, and back is never refused', async () => {
    const { deps } = openRoom()
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

  it('W-19: or by false, where so configured', async () => {
    const { deps } = openRoom()
    const { navigation } = await openThree(deps, { throwsOnRecursion: false })
    await navigation.changeToAgent('A')
    expect(await navigation.changeToAgent('A')).toBe(false)
  })

  it('W-20: previous goes down the stack to the default, and then nowhere', async () => {
    const { deps } = openRoom()
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

  it('W-21: a hand-over ends its call, changes the agent and lets it answer: one answer for the user', async () => {
    const { deps, bus, events } = openRoom()
    const b = scripted(messages => ({ content: `refunding: ${messages.at(-1)?.content}` }))
    const spec = swarm([
      agent('triage', scripted(callOf('navigate_to_refunds')), { tools: [createNavigateTool({ to: 'refunds' })] }),
      agent('refunds', b),
    ])
    const client = await openSwarmClient(spec, deps, 'c')
    expect(await client.complete('my money')).toBe('refunding: my money')
    await bus.drain()
    const types = events.map(({ type }) => type)
    const order = ['commit-tool-request', 'commit-stop-tools', 'commit-tool-output', 'set-agent-name', 'emit-output']
    expect(types.filter(type => order.includes(type))).toEqual(order)
    expect(types.filter(type => type === 'commit-agent-change')).toHaveLength(2)
    expect(say(await client.history.listRaw())).toEqual([
      'user/triage:my money',
      'assistant/triage:',
      'tool/triage:Navigated from triage to refunds',
      'user/refunds:my money',
      'assistant/refunds:refunding: my money',
    ])
    expect((await client.history.listRaw())[2]?.tool_call_id).toBe('id-navigate_to_refunds')
  })

  it('W-21: where the hand-over cannot be, the history is flushed and the user asked to repeat', async () => {
    const { deps } = openRoom()
    const spec = swarm([
      agent('triage', scripted(callOf('go')), { tools: [createNavigateTool({ to: 'nobody', name: 'go' })] }),
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

  it('W-31: what a chat shows is the active agent and the stack, and a change of them', async () => {
    const { deps } = openRoom()
    const { navigation } = await openThree(deps)
    const before = readSwarmState(navigation)
    expect(before).toEqual({ activeAgent: 'D', navigationStack: [] })
    await navigation.changeToAgent('A')
    const after = readSwarmState(navigation)
    expect(diffSwarmState(before, after)).toEqual([
      { op: 'replace', path: '/activeAgent', value: 'A' },
      { op: 'replace', path: '/navigationStack', value: ['A'] },
    ])
    expect(diffSwarmState(after, after)).toEqual([])
  })

  it('W-22: a restart finds the active agent, the stack and the history', async () => {
    const { deps } = openRoom()
    const before = await openThree(deps)
    await before.navigation.changeToAgent('A')
    await before.complete('hi')
    const after = await openThree(deps)
    expect([after.navigation.active, after.navigation.stack]).toEqual(['A', ['A']])
    expect(say(await after.history.listRaw())).toEqual(['user/A:hi', 'assistant/A:ok'])
  })
})

describe('operators and policies', () => {
  it('W-26: a human answers in an agent’s place', async () => {
    const { deps } = openRoom()
    const asked: unknown[] = []
    const operator = {
      async ask({ message, agentName }: { message: string; agentName: string }) {
        asked.push([agentName, message])
        return 'A human here.'
      },
    }
    const client = await openSwarmClient(swarm([agent('desk', scripted(), { operator })]), deps, 'c')
    expect(await client.complete('help')).toBe('A human here.')
    expect(asked).toEqual([['desk', 'help']])
  })

  it('W-26: after 90 seconds without an answer the user is told, and what the human says later reaches nobody', async () => {
    const { deps, pass } = openRoom()
    const asked = Promise.withResolvers<AbortSignal>()
    const late = Promise.withResolvers<string>()
    const operator = {
      ask({ signal }: { signal: AbortSignal }) {
        asked.resolve(signal)
        return late.promise
      },
    }
    const client = await openSwarmClient(swarm([agent('desk', scripted(), { operator })]), deps, 'c')
    const answer = client.complete('help')
    const signal = await asked.promise
    pass(90_000)
    expect(await answer).toBe('Nobody is there to answer right now. Please try again later.')
    expect(signal.aborted).toBe(true)
    late.resolve('sorry, lunch')
    await late.promise
    expect(await client.history.listRaw()).toHaveLength(2)
  })

  it('W-27: a banned client gets the fixed refusal, no model is asked, and the ban is told once', async () => {
    const { deps, bus, events } = openRoom()
    const model = scripted('hello')
    const policy = {
      policyName: 'manners',
      banMessage: 'We do not talk.',
      bansOnRefusal: true,
      validateInput: (message: string) => message !== 'rude',
    }
    const client = await openSwarmClient(swarm([agent('a', model)], { policies: [policy] }), deps, 'c')
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

  it('an answer that a policy refuses does not go out', async () => {
    const { deps } = openRoom()
    const policy = {
      policyName: 'p',
      banMessage: 'No.',
      validateOutput: (message: string) => !message.includes('secret'),
    }
    const client = await openSwarmClient(
      swarm([agent('a', scripted('the secret is'))], { policies: [policy] }),
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

  it('W-21 and W-22: triage hands over, and the specialist still speaks at the next message', async () => {
    const { deps } = openRoom()
    const refunds = scripted('Which order?', 'Done.')
    const triage = agent('triage', scripted(callOf('navigate_to_refunds')), {
      tools: [createNavigateTool({ to: 'refunds' })],
    })
    const desk = createSwarmAgent(swarm([triage, agent('refunds', refunds)]), deps)
    const context = contextOf()
    expect(await desk.handle(message('money back'), context)).toBe('Which order?')
    expect(await desk.handle(message('order 7'), context)).toBe('Done.')
    const last = refunds.seen[1]?.at(-1)
    expect(last).toMatchObject({
      content: 'order 7',
      images: [png.toString('base64')],
      payload: { message_id: 'm-order 7', sender: '@ann@social.example' },
    })
    expect(refunds.seen[1]?.map(({ content }) => content)).toContain('Which order?')
  })

  it('two conversations that bear one name share nothing', async () => {
    const { deps } = openRoom()
    const model = scripted('one', 'two')
    const desk = createSwarmAgent(swarm([agent('a', model)]), deps)
    await desk.handle(message('my secret'), contextOf())
    await desk.handle(message('hello'), contextOf())
    expect(JSON.stringify(model.seen[1])).not.toContain('my secret')
  })

  it('a turn that is given up by the gateway ends with its reason, and says nothing', async () => {
    const { deps } = openRoom()
    const stop = new AbortController()
    const model = scripted(async () => {
      stop.abort(new Error('shutting down'))
      return { content: 'too late' }
    })
    const desk = createSwarmAgent(swarm([agent('a', model)]), deps)
    await expect(desk.handle(message('hi'), { ...contextOf(), signal: stop.signal })).rejects.toThrow('shutting down')
  })
})
