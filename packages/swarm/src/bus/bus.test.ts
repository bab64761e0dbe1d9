import { Rejection } from '@postern/message'
import { describe, expect, it } from 'vitest'
import { expectWhole } from '../../test/expect-whole.ts'
import { agentSpec, callOf, openMemorySwarm, scripted, swarmSpec, toolOf } from '../../test/memory-swarm.ts'
import type { SwarmSpec } from '../index.ts'
import { busSources, createNavigateTool, createSwarm, createSwarmBus, openSwarmClient } from '../index.ts'

// Tests the events of every source and their listeners.

describe('every event source', () => {
  const rich: SwarmSpec = swarmSpec(
    [
      agentSpec('a', scripted(callOf('navigate_to_b'), 'stateless'), { tools: [createNavigateTool({ to: 'b' })] }),
      agentSpec('b', scripted(callOf('note'), 'noted', 'pong'), {
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

  it('emits each of its events with all names that apply (W-08, W-10)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const gateway = createSwarm(rich, deps)
    const connection = await gateway.makeConnection(() => {}, 'c')
    await connection.send('hi')
    const client = await gateway.open('c')
    client.getAgent()
    await gateway.notify('psst', 'c', 'b')
    await gateway.emit('by the way', 'c', 'b')
    await gateway.runStateless('ping', 'c', 'b')
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

  it('the events of a turn arrive in order, with its outcome', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const client = await openSwarmClient(swarmSpec([agentSpec('a', scripted('hello'))]), deps, 'c')
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

describe('event listeners', () => {
  it.each([undefined, '*'])(
    'for %s get the events of all clients, or only those of a client (W-11)',
    async clientId => {
      const { bus } = openMemorySwarm()
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
    },
  )

  it.each(busSources)('may subscribe to one source: %s (W-11)', async wanted => {
    const { bus } = openMemorySwarm()
    const heard: string[] = []
    bus.listen(({ source }) => void heard.push(source), { source: wanted })
    for (const source of busSources) bus.emit({ type: 'x', source, clientId: 'A' })
    await bus.drain()
    expect(heard).toEqual([wanted])
  })

  it('get events in order, one at a time, despite errors of others, and can unsubscribe (W-11)', async () => {
    const { bus, warnings } = openMemorySwarm()
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

  it('may subscribe once, to the first event that passes their filter', async () => {
    const { bus, warnings } = openMemorySwarm()
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

  it('get custom events with their payload, under no source of the bus', async () => {
    const { bus, events } = openMemorySwarm()
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

  it('do not delay the emitter', async () => {
    const bus = createSwarmBus({ log: { warn() {} } })
    const semaphore = Promise.withResolvers<void>()
    bus.listen(() => semaphore.promise)
    bus.emit({ type: 'x', source: 'agent-bus', clientId: 'A' })
    semaphore.resolve()
    await bus.drain()
  })
})
