import { Rejection } from '@postern/core'
import { describe, expect, it } from 'vitest'
import { agent, callOf, openRoom, say, scripted, swarm, toolOf } from '../../test/swarm-room.ts'
import type { AllCommits, BusEvent, SwarmMessage, SwarmSpec } from '../index.ts'
import { busSources, createNavigateTool, createSwarm, createSwarmBus, openSwarmClient } from '../index.ts'

// Seed 003, §4.2 and §4.3 as a table: of every commit its rows, its event, and which buses tell it.

type Row = Omit<SwarmMessage, 'agentName'>

interface Operation {
  readonly name: string
  run(commits: AllCommits, options: { readonly agentName: string }): Promise<unknown>
  force(commits: AllCommits): Promise<unknown>
  readonly rows: readonly Row[]
  /** Absent: no event of its own. */
  readonly type?: string
  readonly input?: object
  readonly isOfSession: boolean
  readonly skipped?: unknown
}

const call = { id: 'c-1', type: 'function', function: { name: 't', arguments: { a: 1 } } } as const
const requested = { request: [{ toolName: 't', params: { a: 1 } }] }
const textOf = (
  role: 'assistant' | 'system' | 'developer',
  words: string,
): Pick<Operation, 'rows' | 'type' | 'input' | 'isOfSession'> => ({
  rows: [{ role, content: words, mode: 'tool' }],
  type: `commit-${role}-message`,
  input: { message: words },
  isOfSession: true,
})

const operations: readonly Operation[] = [
  {
    name: 'commitUserMessage, mode user',
    run: (commits, options) => commits.commitUserMessage('u', 'user', { ...options, payload: { image_id: 'i' } }),
    force: commits => commits.commitUserMessageForce('u', 'user', { payload: { image_id: 'i' } }),
    rows: [{ role: 'user', content: 'u', mode: 'user', payload: { image_id: 'i' } }],
    type: 'commit-user-message',
    input: { message: 'u' },
    isOfSession: true,
  },
  {
    name: 'commitUserMessage, mode tool: without the payload',
    run: (commits, options) => commits.commitUserMessage('u', 'tool', { ...options, payload: { a: 1 } }),
    force: commits => commits.commitUserMessageForce('u', 'tool', { payload: { a: 1 } }),
    rows: [{ role: 'user', content: 'u', mode: 'tool' }],
    type: 'commit-user-message',
    input: { message: 'u' },
    isOfSession: true,
  },
  {
    name: 'commitAssistantMessage',
    run: (commits, options) => commits.commitAssistantMessage('as', options),
    force: commits => commits.commitAssistantMessageForce('as'),
    ...textOf('assistant', 'as'),
  },
  {
    name: 'commitSystemMessage',
    run: (commits, options) => commits.commitSystemMessage('s', options),
    force: commits => commits.commitSystemMessageForce('s'),
    ...textOf('system', 's'),
  },
  {
    name: 'commitDeveloperMessage',
    run: (commits, options) => commits.commitDeveloperMessage('d', options),
    force: commits => commits.commitDeveloperMessageForce('d'),
    ...textOf('developer', 'd'),
  },
  {
    name: 'commitToolCalls',
    run: (commits, options) => commits.commitToolCalls('so', [call], options),
    force: commits => commits.commitToolCallsForce('so', [call]),
    rows: [{ role: 'assistant', content: 'so', mode: 'tool', tool_calls: [call] }],
    type: 'commit-tool-request',
    input: requested,
    isOfSession: true,
  },
  {
    name: 'commitToolRequest',
    run: (commits, options) => commits.commitToolRequest([{ toolName: 't', params: { a: 1 } }], options),
    force: commits => commits.commitToolRequestForce([{ toolName: 't', params: { a: 1 } }]),
    rows: [{ role: 'assistant', content: '', mode: 'tool', tool_calls: [{ ...call, id: expect.any(String) }] }],
    type: 'commit-tool-request',
    input: requested,
    isOfSession: true,
    skipped: [],
  },
  {
    name: 'commitToolOutput',
    run: (commits, options) => commits.commitToolOutput('c-1', 'out', options),
    force: commits => commits.commitToolOutputForce('c-1', 'out'),
    rows: [{ role: 'tool', content: 'out', mode: 'tool', tool_call_id: 'c-1' }],
    type: 'commit-tool-output',
    input: { toolId: 'c-1', content: 'out' },
    isOfSession: true,
  },
  {
    name: 'commitFlush',
    run: (commits, options) => commits.commitFlush(options),
    force: commits => commits.commitFlushForce(),
    rows: [{ role: 'flush', content: '', mode: 'tool' }],
    type: 'commit-flush',
    input: {},
    isOfSession: true,
  },
  {
    name: 'commitStopTools',
    run: (commits, options) => commits.commitStopTools(options),
    force: commits => commits.commitStopToolsForce(),
    rows: [],
    type: 'commit-stop-tools',
    input: {},
    isOfSession: true,
  },
  {
    name: 'commitCancelOutput',
    run: (commits, options) => commits.commitCancelOutput(options),
    force: commits => commits.commitCancelOutputForce(),
    rows: [],
    type: 'commit-cancel-output',
    input: {},
    isOfSession: false,
  },
  {
    name: 'commitAgentChange',
    run: (commits, options) => commits.commitAgentChange(options),
    force: commits => commits.commitAgentChangeForce(),
    rows: [],
    type: 'commit-agent-change',
    input: {},
    isOfSession: false,
  },
  {
    name: 'commitRescue',
    run: (commits, options) => commits.commitRescue('empty output', 'Again: u', options),
    force: commits => commits.commitRescueForce('empty output', 'Again: u'),
    rows: [
      { role: 'resque', content: 'empty output', mode: 'tool' },
      { role: 'user', content: 'Again: u', mode: 'tool' },
    ],
    isOfSession: false,
  },
]

const withRows = operations.filter(({ rows }) => rows.length > 0)
const own = { agentName: 'a' }
const spec = swarm([agent('a', scripted()), agent('b', scripted())])

async function openClient() {
  const room = openRoom()
  /** What is stored and what is told, in the order in which it happens. */
  const log: string[] = []
  const transcript = {
    ...room.deps.transcript,
    async append(...given: Parameters<typeof room.deps.transcript.append>) {
      const stored = await room.deps.transcript.append(...given)
      log.push('stored')
      return stored
    },
  }
  const emit: typeof room.bus.emit = event => {
    log.push(`${event.source} ${event.type}`)
    room.bus.emit(event)
  }
  const client = await openSwarmClient(spec, { ...room.deps, transcript, bus: { ...room.bus, emit } }, 'client')
  return { ...room, client, log }
}

const commitsOf = (events: readonly BusEvent[]) =>
  events.filter(({ source, type }) => source !== 'history-bus' && type !== 'cancel-output')

describe.each(operations)('$name', ({ run, force, rows, type, input = {}, isOfSession, skipped = false }) => {
  it('W-08: stores its rows, then tells its event', async () => {
    const { client, events, bus, log } = await openClient()
    await run(client.commits, own)
    await bus.drain()
    expect(await client.history.listRaw()).toEqual(rows.map(row => ({ ...row, agentName: 'a' })))
    const sources = type === undefined ? [] : isOfSession ? ['agent-bus', 'session-bus'] : ['agent-bus']
    const told = sources.map(source => ({ source, type, input }))
    expect(commitsOf(events).map(({ source, type, input }) => ({ source, type, input }))).toEqual(told)
    const pushed = rows.flatMap(() => ['stored', 'history-bus push'])
    const order = log.filter(line => line !== 'swarm-bus cancel-output')
    expect(order).toEqual([...pushed, ...told.map(({ source, type }) => `${source} ${type}`)])
  })

  it('W-10: each event has all six fields, its agent and its client', async () => {
    const { client, events, bus } = await openClient()
    await run(client.commits, own)
    await bus.drain()
    expect(events.length).toBeGreaterThanOrEqual(Math.max(rows.length, 1))
    for (const event of events) expectWhole(event, 'client')
  })

  it('W-17: is skipped when its agent is not the active one any more, and forced it is not', async () => {
    const { client, events, bus } = await openClient()
    await client.navigation.changeToAgent('b')
    await bus.drain()
    events.length = 0
    expect(await run(client.commits, own)).toEqual(skipped)
    await bus.drain()
    expect(events).toEqual([])
    expect(await client.history.listRaw()).toEqual([])
    expect(await force(client.commits)).not.toEqual(skipped)
    await bus.drain()
    expect(await client.history.listRaw()).toEqual(rows.map(row => ({ ...row, agentName: 'b' })))
    expect(new Set(commitsOf(events).map(event => event.type))).toEqual(new Set(type === undefined ? [] : [type]))
  })
})

describe.each(withRows)('$name, while the store fails', ({ run, force }) => {
  it('W-09: is an error to its caller, and nobody is told', async () => {
    const { deps, bus, events } = openRoom()
    const broken = { ...deps.transcript, append: () => Promise.reject(new Error('disk full')) }
    const client = await openSwarmClient(spec, { ...deps, transcript: broken }, 'c')
    await expect(run(client.commits, own)).rejects.toThrow('disk full')
    await expect(force(client.commits)).rejects.toThrow('disk full')
    await bus.drain()
    expect(events).toEqual([])
  })
})

function expectWhole({ payload: _, ...event }: BusEvent, clientId: string): void {
  expect(event).toEqual({
    type: expect.any(String),
    source: expect.any(String),
    input: expect.any(Object),
    output: expect.any(Object),
    context: expect.objectContaining({ agentName: expect.any(String), swarmName: 'desk' }),
    clientId,
  })
}

describe('the history bus', () => {
  it('pop takes the last row with its calls, and tells it; of none it is null', async () => {
    const { client, events, bus } = await openClient()
    await client.commits.commitUserMessage('u', 'user', own)
    await client.commits.commitToolCalls('so', [call], own)
    await bus.drain()
    events.length = 0
    const taken = await client.history.pop('a')
    expect(taken).toEqual({ role: 'assistant', agentName: 'a', content: 'so', mode: 'tool', tool_calls: [call] })
    expect(say(await client.history.listRaw())).toEqual(['user/a:u'])
    await client.history.pop('a')
    expect(await client.history.pop('a')).toBeNull()
    await bus.drain()
    expect(events.map(({ source, type, output }) => [source, type, output])).toEqual([
      ['history-bus', 'pop', { value: taken }],
      ['history-bus', 'pop', { value: expect.objectContaining({ role: 'user', content: 'u' }) }],
      ['history-bus', 'pop', { value: null }],
    ])
    for (const event of events) expectWhole(event, 'client')
  })

  it('pop and what is written at once lose nothing: one of them waits or is told', async () => {
    const { client } = await openClient()
    await client.commits.commitUserMessage('one', 'user', own)
    const done = await Promise.allSettled([
      client.history.pop('a'),
      client.commits.commitUserMessage('two', 'user', own),
    ])
    const failed = done.filter(({ status }) => status === 'rejected')
    const left = say(await client.history.listRaw())
    expect(left).toEqual(failed.length === 0 ? ['user/a:two'] : [])
  })

  it('a pop that the store refuses is told to its caller and to nobody else', async () => {
    const { deps, bus, events } = openRoom()
    const broken = { ...deps.transcript, replace: () => Promise.reject(new Error('disk full')) }
    const client = await openSwarmClient(spec, { ...deps, transcript: broken }, 'c')
    await client.commits.commitUserMessage('u', 'user', own)
    await bus.drain()
    events.length = 0
    await expect(client.history.pop('a')).rejects.toThrow('disk full')
    await bus.drain()
    expect(events).toEqual([])
    expect(say(await client.history.listRaw())).toEqual(['user/a:u'])
  })
})

describe('every source', () => {
  const rich: SwarmSpec = swarm(
    [
      agent('a', scripted(callOf('navigate_to_b'), 'stateless'), { tools: [createNavigateTool({ to: 'b' })] }),
      agent('b', scripted(callOf('note'), 'noted', 'pong'), {
        tools: [
          toolOf('note', async ({ data, commitToolOutput }) => {
            await data.state('cart').set({ items: 1 })
            await data.state('cart').get()
            await data.state('hours').set('nine')
            await data.storage('notes').upsert({ id: 1, text: 'x' })
            await data.storage('notes').get(1)
            await data.storage('notes').list()
            await data.storage('notes').take('x', 1)
            await data.storage('notes').remove(1)
            await data.storage('notes').clear()
            await data.compute('total').get()
            await data.state('cart').clear()
            await commitToolOutput('done')
          }),
        ],
      }),
    ],
    {
      policies: [{ policyName: 'p', banMessage: 'No.', validateInput: () => true, validateOutput: () => true }],
      states: [
        { stateName: 'cart', getDefault: () => ({}) },
        { stateName: 'hours', isShared: true, getDefault: () => '' },
      ],
      storages: [{ storageName: 'notes', embed: async () => [1, 0] }],
      computes: [{ computeName: 'total', dependsOn: ['cart'], compute: ({ cart }) => JSON.stringify(cart).length }],
    },
  )

  it('W-08 and W-10: tells each of its events, whole, with every name that applies', async () => {
    const { deps, bus, events } = openRoom()
    const house = createSwarm(rich, deps)
    const connection = await house.makeConnection(() => {}, 'c')
    await connection.send('hi')
    const client = await house.open('c')
    client.getAgent()
    await house.notify('psst', 'c', 'b')
    await house.emit('by the way', 'c', 'b')
    await house.runStateless('ping', 'c', 'b')
    await client.history.pop('b')
    await client.cancelOutput()
    await client.bans.ban('c', 'p')
    await client.bans.unban('c', 'p')
    await bus.drain()
    const typesOf = (source: string) => new Set(events.filter(event => event.source === source).map(({ type }) => type))
    const wanted: Readonly<Record<(typeof busSources)[number], readonly string[]>> = {
      'agent-bus': [
        'commit-user-message',
        'commit-tool-request',
        'commit-tool-output',
        'commit-stop-tools',
        'commit-agent-change',
        'commit-assistant-message',
        'commit-cancel-output',
        'emit-output',
        'run',
      ],
      'history-bus': ['push', 'pop'],
      'session-bus': ['connect', 'commit-stop-tools', 'commit-tool-output', 'execute', 'notify', 'emit', 'run'],
      'swarm-bus': [
        'set-agent-ref',
        'set-agent-name',
        'wait-for-output',
        'get-agent',
        'get-agent-name',
        'cancel-output',
      ],
      'execution-bus': ['commit-execution-begin', 'commit-execution-end'],
      'state-bus': ['set-state', 'get-state', 'clear-state'],
      'storage-bus': ['upsert', 'get', 'list', 'take', 'remove', 'clear'],
      'compute-bus': ['emit-output'],
      'policy-bus': ['validate-input', 'validate-output', 'ban-client', 'unban-client'],
    }
    for (const source of busSources) expect([source, typesOf(source)]).toEqual([source, new Set(wanted[source])])
    for (const event of events) {
      const isShared = event.context.stateName === 'hours'
      expectWhole(event, isShared ? 'shared' : 'c')
    }
    const nameOf = { 'state-bus': 'stateName', 'storage-bus': 'storageName', 'compute-bus': 'computeName' } as const
    for (const [source, name] of Object.entries({ ...nameOf, 'policy-bus': 'policyName' } as const)) {
      for (const { context } of events.filter(event => event.source === source)) {
        expect(context[name]).toEqual(expect.any(String))
      }
    }
  })

  it('what is told of a turn is in order, and says what came of it', async () => {
    const { deps, bus, events } = openRoom()
    const client = await openSwarmClient(swarm([agent('a', scripted('hello'))]), deps, 'c')
    await client.complete('hi')
    await bus.drain()
    expect(events.map(({ source, type, input, output }) => [`${source} ${type}`, input, output])).toEqual([
      ['execution-bus commit-execution-begin', {}, {}],
      ['history-bus push', { message: { role: 'user', agentName: 'a', content: 'hi', mode: 'user' } }, {}],
      ['agent-bus commit-user-message', { message: 'hi' }, {}],
      ['history-bus push', { message: { role: 'assistant', agentName: 'a', content: 'hello', mode: 'tool' } }, {}],
      ['agent-bus commit-assistant-message', { message: 'hello' }, {}],
      ['agent-bus emit-output', { mode: 'user', rawResult: 'hello' }, { result: 'hello' }],
      ['swarm-bus wait-for-output', {}, { result: 'hello' }],
      ['session-bus execute', { message: 'hi', mode: 'user' }, { result: 'hello' }],
      ['execution-bus commit-execution-end', {}, {}],
    ])
  })
})

describe('listeners', () => {
  it.each([undefined, '*'])('W-11: of %s hear of everybody, those of a client only of him', async clientId => {
    const { bus } = openRoom()
    const all: string[] = []
    const own: string[] = []
    bus.listen(({ type, clientId }) => void all.push(`${clientId} ${type}`), { clientId })
    bus.listen(({ type }) => void own.push(type), { clientId: 'A' })
    for (const source of busSources) {
      for (const clientId of ['A', 'B']) bus.emit({ type: source, source, clientId })
    }
    await bus.drain()
    expect(all).toEqual(busSources.flatMap(source => [`A ${source}`, `B ${source}`]))
    expect(own).toEqual([...busSources])
  })

  it.each(busSources)('W-11: hear one source alone where they want that: %s', async wanted => {
    const { bus } = openRoom()
    const heard: string[] = []
    bus.listen(({ source }) => void heard.push(source), { source: wanted })
    for (const source of busSources) bus.emit({ type: 'x', source, clientId: 'A' })
    await bus.drain()
    expect(heard).toEqual([wanted])
  })

  it('W-11: get events in order, one at a time; one that throws harms nobody; they can leave', async () => {
    const { bus, warnings } = openRoom()
    const told: string[] = []
    let running = 0
    const release: (() => void)[] = []
    bus.listen(() => {
      throw new Error('bad listener')
    })
    bus.listen(() => Promise.reject(new Error('bad listener, later')))
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
    bus.emit({ type: 'four', source: 'agent-bus', clientId: 'A' })
    await bus.drain()
    expect(told).toEqual(['one', 'two', 'three'])
    expect(warnings).toHaveLength(10)
  })

  it('hear once, of the first event that passes their filter', async () => {
    const { bus, warnings } = openRoom()
    const once: string[] = []
    bus.listen(({ clientId, type }) => void once.push(`${clientId} ${type}`), {
      isOnce: true,
      filter: ({ type }) => type === 'two',
    })
    bus.listen(() => void once.push('never'), {
      isOnce: true,
      filter: () => {
        throw new Error('bad filter')
      },
    })
    for (const clientId of ['A', 'B', 'C']) {
      for (const type of ['one', 'two']) bus.emit({ type, source: 'agent-bus', clientId })
    }
    await bus.drain()
    expect(once).toEqual(['A two'])
    expect(warnings).toHaveLength(6)
  })

  it('hear events of the caller’s own making with their payload, under no source of the bus', async () => {
    const { bus, events } = openRoom()
    bus.emitCustom('A', 'my-bus', { n: 1 })
    for (const source of busSources) {
      expect(() => bus.emitCustom('A', source, null)).toThrow(
        new Rejection('forbidden', 'Cannot emit event: the source is the bus’s own'),
      )
    }
    await bus.drain()
    expect(events).toEqual([
      { type: 'my-bus', source: 'my-bus', clientId: 'A', input: {}, output: {}, context: {}, payload: { n: 1 } },
    ])
  })

  it('emitting waits for nobody', async () => {
    const bus = createSwarmBus({ log: { warn() {} } })
    const gate = Promise.withResolvers<void>()
    bus.listen(() => gate.promise)
    bus.emit({ type: 'x', source: 'agent-bus', clientId: 'A' })
    gate.resolve()
    await bus.drain()
  })
})
