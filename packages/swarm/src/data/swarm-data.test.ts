import { type Json, Unavailable } from '@postern/message'
import { describe, expect, it } from 'vitest'
import { agentSpec, callOf, openMemorySwarm, scripted, swarmSpec, toolOf } from '../../test/memory-swarm.ts'
import type { StateSpec, SwarmSpec } from '../index.ts'
import { createSwarm, openSwarmClient } from '../index.ts'

type Cart = { readonly items: number }

const cart: StateSpec<Cart> = { stateName: 'cart', getDefault: () => ({ items: 0 }) }
const hours: StateSpec<string> = { stateName: 'hours', isShared: true, getDefault: () => 'nine' }
const add = ({ items }: Cart) => ({ items: items + 1 })

function openSwarms(overrides: Partial<SwarmSpec> = {}) {
  const memory = openMemorySwarm()
  const spec = swarmSpec([agentSpec('a', scripted('ok'))], { states: [cart, hours], ...overrides })
  return { ...memory, open: (clientId: string, deps = memory.deps) => openSwarmClient(spec, deps, clientId) }
}

describe('a state', () => {
  it('has its default until somebody sets it, and again after a clear', async () => {
    const { open } = openSwarms()
    const state = (await open('c')).data.state<Cart>('cart')
    expect(await state.get()).toEqual({ items: 0 })
    expect(await state.set({ items: 5 })).toEqual({ items: 5 })
    expect(await state.set(add)).toEqual({ items: 6 })
    expect(await state.clear()).toEqual({ items: 0 })
    expect(await state.get()).toEqual({ items: 0 })
  })

  it('survives a restart (W-22)', async () => {
    const { open } = openSwarms()
    await (await open('c')).data.state<Cart>('cart').set({ items: 5 })
    expect(await (await open('c')).data.state('cart').get()).toEqual({ items: 5 })
  })

  it('belongs to one client, or to all', async () => {
    const { open, bus, events } = openSwarms()
    const [one, two] = [await open('one'), await open('two')]
    await one.data.state<Cart>('cart').set(add)
    await one.data.state<string>('hours').set('ten')
    expect([await two.data.state('cart').get(), await two.data.state('hours').get()]).toEqual([{ items: 0 }, 'ten'])
    await bus.drain()
    expect(events.map(({ clientId, type, context, output }) => [clientId, type, context.stateName, output])).toEqual([
      ['one', 'set-state', 'cart', { state: { items: 1 } }],
      ['shared', 'set-state', 'hours', { state: 'ten' }],
      ['two', 'get-state', 'cart', { state: { items: 0 } }],
      ['shared', 'get-state', 'hours', { state: 'ten' }],
    ])
  })

  it('keeps all of many simultaneous changes, in one process or in several', async () => {
    const { open } = openSwarms()
    const clients = await Promise.all([1, 2, 3].map(() => open('c')))
    const states = clients.map(({ data }) => data.state<Cart>('cart'))
    await Promise.all(Array.from({ length: 30 }, (_, index) => states[index % 3]?.set(add)))
    expect(await states[0]?.get()).toEqual({ items: 30 })
  })

  it('applies changes one at a time, each once', async () => {
    const { open } = openSwarms()
    const state = (await open('c')).data.state<Cart>('cart')
    let running = 0
    let count = 0
    const slowly = async (before: Cart) => {
      running += 1
      count += 1
      expect(running).toBe(1)
      await new Promise(resolve => setImmediate(resolve))
      running -= 1
      return add(before)
    }
    await Promise.all([state.set(slowly), state.set(slowly), state.set(slowly)])
    expect([await state.get(), count]).toEqual([{ items: 3 }, 3])
  })

  it('allows a change to read it, and a failed change has no effect', async () => {
    const { open, bus, events } = openSwarms()
    const state = (await open('c')).data.state<Cart>('cart')
    const failed = state.set(() => {
      throw new Error('no')
    })
    const next = state.set(async before => ({ items: before.items + (await state.get()).items + 1 }))
    await expect(failed).rejects.toThrow('no')
    expect(await next).toEqual({ items: 1 })
    await bus.drain()
    expect(events.map(({ type }) => type)).toEqual(['get-state', 'set-state'])
  })

  it('passes through its middlewares before it is JSON in the store', async () => {
    const bounded: StateSpec<Cart> = { ...cart, middlewares: [({ items }) => ({ items: Math.min(items, 3) })] }
    const { open } = openSwarms({ states: [bounded] })
    const state = (await open('c')).data.state<Cart>('cart')
    expect(await state.set({ items: 9 })).toEqual({ items: 3 })
    await expect(state.set({ items: Number.NaN })).rejects.toThrow(TypeError)
    expect(await state.get()).toEqual({ items: 3 })
  })

  it('may be null, unlike its default', async () => {
    const { open } = openSwarms({ states: [{ stateName: 'note', getDefault: () => 'empty' }] })
    const note = (await open('c')).data.state('note')
    await note.set(null)
    expect(await note.get()).toBeNull()
    expect(await note.set(before => before)).toBeNull()
    expect(await note.clear()).toBe('empty')
  })

  it('gives up if other changes always come first', async () => {
    const { open, deps } = openSwarms()
    const busy = { ...deps.records, insert: async () => false }
    const client = await open('c', { ...deps, records: busy })
    await expect(client.data.state<Cart>('cart').set(add)).rejects.toThrow(
      new Unavailable('Cannot store record: other writers were first in every attempt'),
    )
  })

  it('shows a refusal of the record store only to its caller (W-09)', async () => {
    const { open, deps, bus, events } = openSwarms()
    const broken = { ...deps.records, insert: () => Promise.reject(new Error('disk full')) }
    const client = await open('c', { ...deps, records: broken })
    await expect(client.data.state<Cart>('cart').set(add)).rejects.toThrow('disk full')
    await bus.drain()
    expect(events).toEqual([])
  })

  it('is separate for clients whose ids look like paths, or like the shared one (W-32)', async () => {
    const { open } = openSwarms()
    const ids = ['c', '../c', '["desk","cart"]', 'shared', '']
    for (const id of ids) await (await open(id)).data.state<Cart>('cart').set({ items: ids.indexOf(id) + 1 })
    for (const id of ids) {
      expect(await (await open(id)).data.state('cart').get()).toEqual({ items: ids.indexOf(id) + 1 })
    }
  })

  it('does not exist under another name', async () => {
    const { open } = openSwarms()
    const { data } = await open('c')
    expect(() => data.state('else')).toThrow(new TypeError('the swarm has no state "else"'))
    expect(() => data.storage('else')).toThrow(new TypeError('the swarm has no storage "else"'))
    expect(() => data.compute('else')).toThrow(new TypeError('the swarm has no compute "else"'))
  })
})

describe('a compute', () => {
  function openComputes(ttlMs?: number) {
    const made: Json[] = []
    const total = {
      computeName: 'total',
      dependsOn: ['cart', 'hours'],
      ttlMs,
      compute(states: { readonly [name: string]: Json }) {
        made.push(states)
        return { of: states, count: made.length }
      },
    }
    return { made, ...openSwarms({ computes: [total] }) }
  }

  it('runs once, and again after a change of a state that it uses, or on request', async () => {
    const { made, open, bus, events } = openComputes()
    const { data } = await open('c')
    const total = data.compute<{ readonly count: number }>('total')
    expect(await total.get()).toEqual({ of: { cart: { items: 0 }, hours: 'nine' }, count: 1 })
    expect((await total.get()).count).toBe(1)
    await data.state<Cart>('cart').set(add)
    expect((await total.get()).count).toBe(2)
    await (await open('somebody else')).data.state<string>('hours').set('ten')
    expect((await total.get()).count).toBe(3)
    await total.update()
    expect((await total.get()).count).toBe(4)
    expect(made.at(-1)).toEqual({ cart: { items: 1 }, hours: 'ten' })
    await bus.drain()
    const told = events.filter(({ source }) => source === 'compute-bus')
    expect(told.map(({ type, context, output }) => [type, context, output])).toEqual(
      made.map((of, index) => [
        'emit-output',
        { agentName: 'a', swarmName: 'desk', computeName: 'total' },
        { data: { of, count: index + 1 } },
      ]),
    )
  })

  it('keeps its result over a restart (W-22)', async () => {
    const { made, open } = openComputes()
    await (await open('c')).data.compute('total').get()
    await (await open('c')).data.compute('total').get()
    expect(made).toHaveLength(1)
  })

  it('keeps its result only for its time', async () => {
    const { made, open, pass } = openComputes(1_000)
    const total = (await open('c')).data.compute('total')
    await total.get()
    pass(999)
    await total.get()
    expect(made).toHaveLength(1)
    pass(1)
    await total.get()
    expect(made).toHaveLength(2)
  })

  it('stores nothing if it fails, and runs again', async () => {
    let count = 0
    const moody = {
      computeName: 'moody',
      compute() {
        count += 1
        if (count === 1) throw new Error('not today')
        return count
      },
    }
    const { open } = openSwarms({ computes: [moody] })
    const { data } = await open('c')
    await expect(data.compute('moody').get()).rejects.toThrow('not today')
    expect(await data.compute('moody').get()).toBe(2)
  })

  it('uses no data of one client if all clients share it', async () => {
    const mixed = { computeName: 'mixed', isShared: true, dependsOn: ['cart'], compute: () => 1 }
    const { open } = openSwarms({ computes: [mixed] })
    const { data } = await open('c')
    expect(() => data.compute('mixed')).toThrow(new TypeError('"mixed" is shared, and "cart" is not'))
  })
})

it('the tools of an agent and the next turn get all of its data', async () => {
  const { deps } = openMemorySwarm()
  const put = toolOf('put', async ({ data, commitToolOutput }) => {
    const { items } = await data.state<Cart>('cart').set(add)
    await commitToolOutput(`${items} in the cart`)
  })
  const model = scripted(callOf('put'), 'one', callOf('put', {}, 'again'), rows => ({
    content: rows.at(-1)?.content ?? '',
  }))
  const gateway = createSwarm(swarmSpec([agentSpec('a', model, { tools: [put] })], { states: [cart] }), deps)
  const session = await gateway.session('c')
  await session.complete('put')
  expect(await session.complete('put')).toBe('2 in the cart')
})
