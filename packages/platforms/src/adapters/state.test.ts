import { expect, test } from 'vitest'
import { createPlatformState } from './state.ts'

function openState() {
  let time = 0
  const state = createPlatformState({
    now: () => time,
    isForgotten: key => key.startsWith('delivered:'),
    readConstant: key => (key === 'constant' ? {} : undefined),
  })
  return { state, advance: (ms: number) => (time += ms) }
}

test('the state keeps values and lists until they expire', async () => {
  const { state, advance } = openState()
  await state.set('name', 'Ann', 100)
  for (const id of ['U1', 'U2', 'U3']) await state.appendToList('ids', id, { maxLength: 2, ttlMs: 50 })
  expect([await state.get('name'), await state.getList('ids')]).toEqual(['Ann', ['U2', 'U3']])
  expect(await state.setIfNotExists('name', 'Bob')).toBe(false)
  advance(60)
  expect([await state.get('name'), await state.getList('ids')]).toEqual(['Ann', []])
  advance(60)
  expect([await state.get('name'), await state.setIfNotExists('name', 'Bob')]).toEqual([null, true])
})

test("the state forgets the adapter's mark of a delivered event, which would swallow its repetition", async () => {
  const { state } = openState()
  await state.set('delivered:Ev1', true)
  expect(await state.get('delivered:Ev1')).toBeNull()
  expect(await state.get('constant')).toEqual({})
})

test('the state holds a limited number of entries', async () => {
  const { state } = openState()
  for (let index = 0; index <= 10_000; index += 1) await state.set(`key ${index}`, index)
  expect([await state.get('key 0'), await state.get('key 1')]).toEqual([null, 1])
})

test('the state refuses locks and subscriptions, because the store orders turns and knows answered threads', async () => {
  const { state } = openState()
  await expect(state.acquireLock('t', 1)).rejects.toThrow('orders the turns')
  await expect(state.isSubscribed('t')).rejects.toThrow('in which threads it has answered')
})
