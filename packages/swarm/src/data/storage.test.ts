import { type Json, Rejection } from '@postern/message'
import { describe, expect, it } from 'vitest'
import { agentSpec, openMemorySwarm, scripted, swarmSpec } from '../../test/memory-swarm.ts'
import { openSwarmClient } from '../index.ts'

describe('a storage', () => {
  const notes = { storageName: 'notes' }
  const faq = { storageName: 'faq', isShared: true, getDefault: () => [{ id: 'open', text: 'from nine' }] }
  const near: Readonly<Record<string, readonly number[]>> = {
    money: [1, 0],
    'a refund': [0.9, 0.1],
    weather: [0, 1],
    'so so': [0.7, 0.7],
  }
  const asked: string[] = []
  const lostAndFound = {
    storageName: 'found',
    createIndex: ({ text }: { readonly text?: Json }) => String(text),
    async embed(text: string) {
      asked.push(text)
      return near[text] ?? [0, 0]
    },
  }

  async function openNotes() {
    const memory = openMemorySwarm()
    const spec = swarmSpec([agentSpec('a', scripted())], { storages: [notes, faq, lostAndFound] })
    const open = (clientId: string) => openSwarmClient(spec, memory.deps, clientId)
    return { ...memory, open, client: await open('c') }
  }

  it('has items by their ids, in order of insertion', async () => {
    const { client } = await openNotes()
    const storage = client.data.storage('notes')
    for (const id of ['x', 1, '1']) await storage.upsert({ id, text: `of ${typeof id}` })
    await storage.upsert({ id: 'x', text: 'new' })
    expect(await storage.list()).toEqual([
      { id: 'x', text: 'new' },
      { id: 1, text: 'of number' },
      { id: '1', text: 'of string' },
    ])
    expect(await storage.get(1)).toEqual({ id: 1, text: 'of number' })
    expect(await storage.list(({ id }) => id === '1')).toHaveLength(1)
    await storage.remove(1)
    await storage.remove('never there')
    expect([await storage.get(1), await storage.get('1')]).toEqual([null, { id: '1', text: 'of string' }])
    await storage.clear()
    expect(await storage.list()).toEqual([])
  })

  it('emits events for its changes', async () => {
    const { client, bus, events } = await openNotes()
    const storage = client.data.storage('notes')
    const item = { id: 1, text: 'x' }
    await storage.upsert(item)
    await storage.get(1)
    await storage.list()
    await storage.remove(1)
    await storage.clear()
    await bus.drain()
    expect(events.map(({ type, input, output }) => [type, input, output])).toEqual([
      ['upsert', { item }, {}],
      ['get', { itemId: 1 }, { value: item }],
      ['list', {}, { value: [item] }],
      ['remove', { itemId: 1 }, {}],
      ['clear', {}, {}],
    ])
  })

  it('survives a restart, and a shared one serves everybody with its default items (W-22)', async () => {
    const { client, open } = await openNotes()
    await client.data.storage('notes').upsert({ id: 1 })
    await client.data.storage('faq').upsert({ id: 'closed', text: 'on Sundays' })
    const [again, other] = [await open('c'), await open('d')]
    expect(await again.data.storage('notes').list()).toEqual([{ id: 1 }])
    expect(await other.data.storage('notes').list()).toEqual([])
    expect((await other.data.storage('faq').list()).map(({ id }) => id)).toEqual(['open', 'closed'])
    await other.data.storage('faq').clear()
    expect(await again.data.storage('faq').list()).toEqual([])
  })

  it('keeps all of many simultaneous insertions', async () => {
    const { open } = await openNotes()
    const storages = (await Promise.all([1, 2].map(() => open('c')))).map(({ data }) => data.storage('notes'))
    await Promise.all(Array.from({ length: 20 }, (_, id) => storages[id % 2]?.upsert({ id })))
    expect(await storages[0]?.list()).toHaveLength(20)
  })

  it('finds the items nearest in meaning, with one embedding for each text, also over restarts', async () => {
    const { client, open } = await openNotes()
    const storage = client.data.storage('found')
    for (const [id, text] of ['weather', 'a refund', 'so so'].entries()) await storage.upsert({ id, text })
    asked.length = 0
    expect((await storage.take('money', 5)).map(({ text }) => text)).toEqual(['a refund', 'so so'])
    expect((await storage.take('money', 1)).map(({ text }) => text)).toEqual(['a refund'])
    expect(await storage.take('money', 0)).toEqual([])
    expect((await storage.take('money', 5, -1)).map(({ text }) => text)).toEqual(['a refund', 'so so', 'weather'])
    expect(await (await open('c')).data.storage('found').take('money', 5, 0.9)).toHaveLength(1)
    expect(asked).toEqual(['money', 'weather', 'a refund', 'so so'])
  })

  it('finds nothing by meaning without an embedding function', async () => {
    const { client } = await openNotes()
    await expect(client.data.storage('notes').take('money', 1)).rejects.toThrow(
      new Rejection('unsupported', 'Cannot search storage: it has no embedding'),
    )
  })
})
