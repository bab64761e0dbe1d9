import { Rejection } from '@postern/message'
import { describe, expect, it } from 'vitest'
import { agentSpec, callOf, formatRows, openMemorySwarm, scripted, swarmSpec } from '../test/memory-swarm.ts'
import type { ModelAnswer, OutgoingMessage, SwarmSpec } from './index.ts'
import { createNavigateTool, createSwarm } from './index.ts'

function openGateway(...script: Parameters<typeof scripted>) {
  const memory = openMemorySwarm()
  const model = scripted(...script)
  const spec: SwarmSpec = swarmSpec([agentSpec('a', model), agentSpec('b', scripted('b here', 'b again'))])
  return { ...memory, model, spec, gateway: createSwarm(spec, memory.deps) }
}

describe('a session', () => {
  it('completes messages one after the other for all holders, until its last caller disposes of it', async () => {
    let isRunning = false
    const answer = (content: string) => async () => {
      expect(isRunning).toBe(false)
      isRunning = true
      await new Promise(resolve => setImmediate(resolve))
      isRunning = false
      return { content }
    }
    const { gateway } = openGateway(answer('one'), answer('two'), answer('three'))
    const [first, second] = [await gateway.session('c'), await gateway.session('c')]
    const both = Promise.all([first.complete('1'), second.complete('2')])
    expect(await both).toEqual(['one', 'two'])
    await first.dispose()
    expect(await first.complete('3')).toBe('')
    expect(await second.complete('3')).toBe('three')
    expect(formatRows(await (await gateway.open('c')).history.listUser())).toEqual(['user/a:1', 'user/a:2', 'user/a:3'])
  })

  it('continues after a restart, with its payload', async () => {
    const { gateway } = openGateway('one', 'two')
    const session = await gateway.session('c')
    await session.complete('hi', { payload: { image_id: 'i' } })
    await session.dispose()
    const again = await gateway.open('c')
    expect(await again.history.listRaw()).toMatchObject([
      { content: 'hi', payload: { image_id: 'i' } },
      { content: 'one' },
    ])
    expect(await again.complete('and now?')).toBe('two')
  })

  it('gives up its answer when the last holder leaves', async () => {
    const asked = Promise.withResolvers<void>()
    const never = () => {
      asked.resolve()
      return new Promise<ModelAnswer>(() => {})
    }
    const { gateway } = openGateway(never)
    const session = await gateway.session('c')
    const answer = session.complete('hi')
    await asked.promise
    await session.dispose()
    expect(await answer).toBe('')
  })

  it('ends when the caller closes the client, and the next user opens it anew', async () => {
    const { gateway, bus } = openGateway('one', 'two')
    const got: string[] = []
    const session = await gateway.session('c')
    const connection = await gateway.makeConnection(({ data }) => void got.push(data), 'c')
    await gateway.scope(async scoped => {
      await scoped.session('c')
      await gateway.dispose('c')
      expect(await (await scoped.session('c')).complete('hi')).toBe('one')
    }, {})
    expect(await session.complete('hi')).toBe('')
    await connection.send('hi')
    await bus.drain()
    expect(got).toEqual([])
    await session.dispose()
    await connection.dispose()
    expect(formatRows(await (await gateway.open('c')).history.listRaw())).toEqual(['user/a:hi', 'assistant/a:one'])
  })

  it('opens at a second try after a failure', async () => {
    const { deps, spec } = openGateway()
    let isBroken = true
    const openThread: typeof deps.transcript.openThread = async (...given) => {
      if (isBroken) throw new Error('not yet')
      return deps.transcript.openThread(...given)
    }
    const gateway = createSwarm(spec, { ...deps, transcript: { ...deps.transcript, openThread } })
    await expect(gateway.session('c')).rejects.toThrow('not yet')
    isBroken = false
    expect(await (await gateway.session('c')).complete('hi')).toBe('nothing left')
  })
})

describe('a connection', () => {
  it('receives answers, refusals, and emitted and notified texts in order, until its caller disposes of it', async () => {
    const memory = openMemorySwarm()
    const policies = [{ policyName: 'p', banMessage: 'No.', validateInput: (words: string) => words !== 'rude' }]
    const gateway = createSwarm(swarmSpec([agentSpec('a', scripted('one', 'two'))], { policies }), memory.deps)
    const got: OutgoingMessage[] = []
    const connection = await gateway.makeConnection(message => void got.push(message), 'c')
    await connection.send('hi')
    await connection.send('rude')
    expect(await gateway.emit('by the way', 'c', 'a')).toBe(true)
    expect(await gateway.notify('psst', 'c', 'a')).toBe(true)
    await memory.bus.drain()
    await connection.dispose()
    await connection.send('hi')
    await gateway.emitForce('unheard', 'c')
    await memory.bus.drain()
    expect(got).toEqual(['one', 'No.', 'by the way', 'psst'].map(data => ({ clientId: 'c', data, agentName: 'a' })))
    const rows = formatRows(await (await gateway.open('c')).history.listRaw())
    expect(rows).toEqual(['user/a:hi', 'assistant/a:one', 'assistant/a:by the way', 'assistant/a:unheard'])
  })

  it('must exist for a notification', async () => {
    const { gateway } = openGateway('one')
    const refusal = new Rejection('no_recipient', 'Cannot notify client: nobody is connected')
    await gateway.session('c')
    await expect(gateway.notify('psst', 'c', 'a')).rejects.toThrow(refusal)
    await expect(gateway.notifyForce('psst', 'c')).rejects.toThrow(refusal)
    const { dispose } = await gateway.makeConnection(() => {}, 'c')
    await gateway.notifyForce('psst', 'c')
    await dispose()
    await expect(gateway.notifyForce('psst', 'c')).rejects.toThrow(refusal)
  })

  it('harms neither the answer nor others if it throws', async () => {
    const { gateway, bus, warnings } = openGateway('one')
    const got: string[] = []
    await gateway.makeConnection(() => Promise.reject(new Error('gone')), 'c')
    const { send } = await gateway.makeConnection(({ data }) => void got.push(data), 'c')
    await send('hi')
    await bus.drain()
    expect([got, warnings]).toEqual([['one'], ['a listener of the swarm bus failed']])
  })
})

describe('messages under an agent’s name', () => {
  it('have no effect when that agent is no longer active, unless the caller forces them (W-17)', async () => {
    const { gateway, bus, events } = openGateway('never')
    await gateway.makeConnection(() => {}, 'c')
    const client = await gateway.open('c')
    await client.navigation.changeToAgent('b')
    await bus.drain()
    events.length = 0
    expect(await gateway.execute('go on', 'c', 'a')).toBe('')
    expect(await gateway.runStateless('ping', 'c', 'a')).toBe('')
    expect(await gateway.emit('words', 'c', 'a')).toBe(false)
    expect(await gateway.notify('words', 'c', 'a')).toBe(false)
    await bus.drain()
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['get-agent-name']))
    expect(await client.history.listRaw()).toEqual([])
    expect(await gateway.executeForce('go on', 'c')).toBe('b here')
    expect(await gateway.runStatelessForce('ping', 'c')).toBe('b again')
    await gateway.emitForce('words', 'c')
    await gateway.notifyForce('words', 'c')
    expect(formatRows(await client.history.listRaw())).toEqual([
      'user/b:go on',
      'assistant/b:b here',
      'assistant/b:words',
    ])
    expect((await client.history.listRaw())[0]?.mode).toBe('tool')
  })

  it('leave and see no row in a stateless run (W-30)', async () => {
    const { gateway, model, bus, events } = openGateway('one', 'pong')
    await (await gateway.session('c')).complete('hi')
    await bus.drain()
    events.length = 0
    expect(await gateway.runStateless('ping', 'c', 'a')).toBe('pong')
    await bus.drain()
    expect(formatRows(model.seen[1] ?? [])).toEqual(['system/a:You are a', 'user/a:ping'])
    expect(await (await gateway.open('c')).history.listRaw()).toHaveLength(2)
    expect(events.map(({ source, type }) => `${source} ${type}`)).toEqual([
      'swarm-bus get-agent-name',
      'agent-bus run',
      'session-bus run',
    ])
  })
})

describe('a fork', () => {
  it('works in the background as its own client and closes it, and its text stays', async () => {
    const { gateway } = openGateway('done')
    const result = await gateway.fork(async (client, agentName) => `${agentName}: ${await client.complete('work')}`, {
      clientId: 'job',
    })
    expect(result).toBe('a: done')
    expect(formatRows(await (await gateway.open('job')).history.listRaw())).toEqual(['user/a:work', 'assistant/a:done'])
  })

  it('reports its failure to the caller and closes', async () => {
    const { gateway, warnings } = openGateway('fine')
    const errors: unknown[] = []
    const failing = () => Promise.reject(new Error('broken'))
    expect(await gateway.fork(failing, { clientId: 'job', onError: error => errors.push(error) })).toBeUndefined()
    expect([errors, warnings]).toEqual([[new Error('broken')], ['work in the background failed']])
    expect(await gateway.fork(client => client.complete('again'), { clientId: 'job' })).toBe('fine')
  })

  it('fails for an open client', async () => {
    const { gateway } = openGateway('one')
    const session = await gateway.session('c')
    const refusal = new Rejection('forbidden', 'Cannot fork client: it is open already')
    await expect(gateway.fork(async () => 1, { clientId: 'c' })).rejects.toThrow(refusal)
    expect(await session.complete('hi')).toBe('one')
    await session.dispose()
    expect(await gateway.fork(async () => 1, { clientId: 'c' })).toBe(1)
  })
})

describe('a scope', () => {
  it('has the same clients with other agents, while it runs', async () => {
    const { gateway } = openGateway('one', 'two')
    const session = await gateway.session('c')
    await session.complete('first')
    const model = scripted(callOf('navigate_to_b'))
    const replaced = agentSpec('a', model, { tools: [createNavigateTool({ to: 'b' })] })
    const answer = await gateway.scope(async scoped => (await scoped.session('c')).complete('second'), {
      agents: [replaced],
    })
    expect(answer).toBe('b here')
    expect(formatRows(model.seen[0] ?? [])).toEqual([
      'system/a:You are a',
      'user/a:first',
      'assistant/a:one',
      'user/a:second',
    ])
    const client = await gateway.open('c')
    expect(client.navigation.active).toBe('b')
    await client.navigation.changeToPrevious()
    expect(await session.complete('third')).toBe('two')
  })

  it('waits for its turn like others', async () => {
    const semaphore = Promise.withResolvers<ModelAnswer>()
    const asked = Promise.withResolvers<void>()
    const slow = () => {
      asked.resolve()
      return semaphore.promise
    }
    const { gateway } = openGateway(slow)
    const first = (await gateway.session('c')).complete('first')
    await asked.promise
    const order: string[] = []
    const model = scripted(async () => {
      order.push('second asked')
      return { content: 'second' }
    })
    const second = gateway.scope(async scoped => (await scoped.open('c')).complete('second'), {
      agents: [agentSpec('a', model)],
    })
    order.push('first answered')
    semaphore.resolve({ content: 'first' })
    expect(await Promise.all([first, second])).toEqual(['first', 'second'])
    expect(order).toEqual(['first answered', 'second asked'])
  })

  it('has only agents of the swarm', async () => {
    const { gateway } = openGateway()
    await expect(gateway.scope(async () => 1, { agents: [agentSpec('z', scripted())] })).rejects.toThrow(
      new TypeError('the swarm has no agent "z"'),
    )
  })
})
