import type { Store, Turn } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { expect, onTestFinished, test } from 'vitest'
import { openStoreUnderTest } from '../../test/open-test-store.ts'

const task = { owner: 'ada', id: 'task 1' }
const megabyte = 'x'.repeat(1024 * 1024)

async function openStore(): Promise<Store> {
  const { store } = await openStoreUnderTest()
  onTestFinished(() => store.close())
  return store
}

async function hear(store: Store, id: string, content: string): Promise<Turn> {
  const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content }]
  const sketch = { message: { thread_source: 'ctx', parts }, task: { ...task, context: 'ctx' } }
  await store.admit(sketchIntake(id, sketch), 'c')
  const [turn] = await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 30_000 })
  if (!turn) throw new Error('no turn is due')
  return turn
}

async function ask(store: Store, id: string, content: string): Promise<void> {
  const turn = await hear(store, id, content)
  const { response, ...answer } = sketchAnswer(turn, 'go on')
  await store.commit(turn, { ...answer, response: response && { ...response, status: 'input_required' } })
}

test('findTask() reads only the newest megabytes of an endless task', async () => {
  const store = await openStore()
  for (let count = 1; count <= 10; count += 1) await ask(store, `m${count}`, megabyte)
  const ids = (await store.findTask(task))?.entries.map(({ nativeId }) => nativeId) ?? []
  expect(ids.slice(-2)).toEqual(['m10', 'answer to m10'])
  expect(ids.filter(id => id?.startsWith('m'))).toHaveLength(7)
})

test('findTask() reads the newest entry of a task at any size', async () => {
  const store = await openStore()
  const { content } = await hear(store, 'm1', megabyte.repeat(9))
  expect((await store.findTask(task))?.entries.map(({ parts }) => parts)).toEqual([content.parts])
})

test('readHistory() marks an oversized entry without reading it', async () => {
  const store = await openStore()
  await ask(store, 'm1', megabyte)
  await ask(store, 'm2', 'short')
  const { thread, message: before } = await hear(store, 'm3', 'now')
  const entries = await store.readHistory({ thread, beforeMessage: before, head: 2, tail: 10 })
  const texts = entries.map(({ parts: [first] }) => first?.kind === 'text' && first.content)
  expect(texts).toEqual(['[too long to be recalled]', 'go on', 'short', 'go on'])
})

test('listMessages() marks an oversized message without reading it for a preview', async () => {
  const store = await openStore()
  await ask(store, 'm1', megabyte)
  expect(await store.listMessages({ limit: 9 })).toMatchObject([{ id: 'm1', preview: '[too long to be recalled]' }])
})
