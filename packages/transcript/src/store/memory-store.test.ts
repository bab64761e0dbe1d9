import { Rejection, Unavailable } from '@postern/message'
import { describe, expect, it } from 'vitest'
import { contentOfText, createMemoryTranscript, type EntryBody, entryBodySchema, type ThreadKey } from '../index.ts'

let count = 0
const alias = { transport: 'agui', key: 'thread/../1' }

function openStore() {
  let time = 1_000_000
  let seed = 0
  const store = createMemoryTranscript({ now: () => time, randomBytes: size => new Uint8Array(size).fill(++seed) })
  return { store, pass: (ms: number) => (time += ms) }
}

function makeEntry(thread: ThreadKey, body: Partial<EntryBody> = {}): EntryBody {
  return entryBodySchema.parse({
    entry_id: `e${++count}`,
    thread_id: thread.thread_id,
    scope: 'conversation',
    kind: 'text',
    role: 'user',
    content: contentOfText('hi'),
    at: '2026-03-13T10:00:00.000Z',
    ...body,
  })
}

describe('createMemoryTranscript()', () => {
  it('returns one thread per alias and owner', async () => {
    const { store } = openStore()
    const first = await store.openThread('ann', alias)
    expect(await store.openThread('ann', alias)).toEqual(first)
    expect((await store.openThread('bob', alias)).thread_id).not.toBe(first.thread_id)
    expect(await store.findThread('carl', alias)).toBeUndefined()
  })

  it('hides a thread from another owner and refuses their write (E-37)', async () => {
    const { store } = openStore()
    const thread = await store.openThread('ann', alias)
    await store.append(thread, [makeEntry(thread)])
    const foreign = { ...thread, owner: 'bob' }
    expect(await store.read(foreign)).toEqual([])
    await expect(store.append(foreign, [makeEntry(thread)])).rejects.toThrow(
      new Rejection('forbidden', 'Cannot use thread: no such thread of this owner'),
    )
  })

  it('counts visible entries without gaps while invisible ones lie between (001 seq)', async () => {
    const { store } = openStore()
    const thread = await store.openThread('ann', alias)
    const said = makeEntry(thread)
    const trace = makeEntry(thread, { kind: 'task', role: 'system', scope: 'agent', agent_key: 'w' })
    const answer = makeEntry(thread, { role: 'assistant', content: contentOfText('done') })
    const end = makeEntry(thread, { kind: 'final', role: 'assistant', content: contentOfText('done') })
    const other = makeEntry(thread, { kind: 'final', role: 'assistant', content: contentOfText('more') })
    await store.append(thread, [said, trace, answer, end, other])
    expect((await store.read(thread)).map(entry => [entry.seq, entry.chat_seq])).toEqual([
      [1, 1],
      [2, undefined],
      [3, 2],
      [4, undefined],
      [5, 3],
    ])
    const chat = await store.read(thread, { chat: true, after_seq: 1, limit: 1 })
    expect(chat.map(({ entry_id }) => entry_id)).toEqual([answer.entry_id])
  })

  it('appends the same message of a format once, with all its entries', async () => {
    const { store } = openStore()
    const thread = await store.openThread('ann', alias)
    const head = { native_id: 'm1', ext: { agui: { of: 2 } } }
    const message = (group_id: string) => [
      makeEntry(thread, { ...head, group_id, role: 'assistant' }),
      makeEntry(thread, { group_id, kind: 'tool_call', role: 'assistant', scope: 'agent', tool: { call_id: 'c' } }),
    ]
    const first = await store.append(thread, message('g1'))
    expect(await store.append(thread, message('g2'))).toEqual(first)
    expect(await store.append(thread, first)).toEqual(first)
    expect(await store.read(thread)).toEqual(first)
  })

  it('reads ranges from both ends, where 0 means none', async () => {
    const { store } = openStore()
    const thread = await store.openThread('ann', alias)
    await store.append(
      thread,
      [1, 2, 3, 4, 5].map(() => makeEntry(thread)),
    )
    const numbers = async (range: object) => (await store.read(thread, range)).map(({ seq }) => seq)
    expect(await numbers({ limit: 2 })).toEqual([1, 2])
    expect(await numbers({ tail: 2 })).toEqual([4, 5])
    expect(await numbers({ before_seq: 4, tail: 2 })).toEqual([2, 3])
    expect(await numbers({ tail: 0 })).toEqual([])
    expect(await numbers({ limit: 0 })).toEqual([])
  })

  it('refuses a second writer under a lock, and a stale token releases nothing (E-35)', async () => {
    const { store, pass } = openStore()
    const thread = await store.openThread('ann', alias)
    const first = await store.acquireLock(thread, 300)
    expect(await store.acquireLock(thread, 300)).toBeUndefined()
    const write = (token?: string) => store.append(thread, [makeEntry(thread)], { token })
    await expect(write()).rejects.toThrow(new Unavailable('Cannot write thread: transcript_lock_contention'))
    await write(first?.token)
    pass(301)
    const second = await store.acquireLock(thread, 300)
    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0)
    await expect(write(first?.token)).rejects.toThrow('transcript_lock_contention')
    expect(await store.releaseLock(thread, first?.token ?? '')).toBe(false)
    expect(await store.releaseLock(thread, second?.token ?? '')).toBe(true)
    await write()
    expect(await store.read(thread)).toHaveLength(2)
  })

  it('replaces the whole list at once, and deletes a thread with its names', async () => {
    const { store } = openStore()
    const thread = await store.openThread('ann', alias)
    await store.append(thread, [makeEntry(thread), makeEntry(thread)])
    const only = makeEntry(thread)
    expect((await store.replace(thread, [only])).map(({ seq, entry_id }) => [seq, entry_id])).toEqual([
      [1, only.entry_id],
    ])
    await store.addAlias(thread, { transport: 'email', key: '<a@b>' })
    await store.forget(thread)
    await store.forget(thread)
    expect(await store.findThread('ann', { transport: 'email', key: '<a@b>' })).toBeUndefined()
    expect(await store.findThread('ann', alias)).toBeUndefined()
  })

  it('never gives one thread’s name to another', async () => {
    const { store } = openStore()
    await store.openThread('ann', alias)
    const other = await store.openThread('ann', { transport: 'email', key: '<a@b>' })
    await expect(store.addAlias(other, alias)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'Cannot name thread: the name is another thread’s',
    })
  })
})
