import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Notice, TransactionNotices } from '../../transaction/notices.ts'
import { createNotifyQueue, maxChars, maxNotices } from './notify-queue.ts'

const settled = (message: number): Notice => ({ topic: `message:${message}`, payload: { kind: 'settled' } })
const part = (chunk: string): Notice => ({ topic: 'message:1', payload: { kind: 'part', chunk } })
const commitOf = (notices: readonly Notice[], turns: readonly number[] = []): TransactionNotices => ({
  notices: [...notices],
  readyWork: new Set(['turns']),
  changes: new Map([['turn', new Set(turns)]]),
})

/** Opens a queue whose transmissions end only when the test says how. */
function openQueue() {
  const sends: { readonly notices: readonly unknown[]; readonly end: (hasSent: boolean) => void }[] = []
  const queue = createNotifyQueue(texts => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    sends.push({ notices: texts.map(text => JSON.parse(text)), end: resolve })
    return promise
  })
  async function endNext(hasSent: boolean): Promise<readonly unknown[]> {
    for (let waits = 0; sends.length === 0 && waits < 200; waits += 1) await delay(5)
    const next = sends.shift()
    next?.end(hasSent)
    return next?.notices ?? []
  }
  return { ...queue, sends, endNext }
}

const entryOf = ({ topic, payload }: Notice) => [topic, payload]

test('a notice leaves at once, and notices of transactions that commit meanwhile leave together, each once', async () => {
  const { announce, waitUntilSent, sends, endNext } = openQueue()
  announce(commitOf([settled(1)], [1]))
  expect(sends).toHaveLength(1)
  announce(commitOf([settled(2)], [2, 3]))
  announce(commitOf([settled(3), settled(2)], [3]))
  expect(sends).toHaveLength(1)
  expect(await endNext(true)).toEqual([entryOf(settled(1)), ['work', ['turns']], ['changes', { turn: [1] }]])
  const together = [entryOf(settled(2)), entryOf(settled(3)), ['work', ['turns']], ['changes', { turn: [2, 3] }]]
  expect(await endNext(true)).toEqual(together)
  await waitUntilSent()
  expect(sends).toEqual([])
})

test('a queue repeats notices of commits after a failure, and no pieces of an answer', async () => {
  const { announce, notify, waitUntilSent, endNext } = openQueue()
  notify(part('a'))
  announce(commitOf([settled(1)]))
  await endNext(true)
  notify(part('b'))
  announce(commitOf([settled(2)]))
  const failed = await endNext(false)
  notify(part('c'))
  const both = [entryOf(settled(1)), entryOf(part('b')), entryOf(settled(2)), ['work', ['turns']]]
  expect(failed).toEqual(both)
  expect(await endNext(true)).toEqual([entryOf(settled(1)), entryOf(settled(2)), entryOf(part('c')), both[3]])
  await waitUntilSent()
})

test('a queue sends equal pieces of an answer, all of them in order', async () => {
  const { notify, endNext } = openQueue()
  for (const chunk of ['a', 'b', 'c', 'b']) notify(part(chunk))
  expect(await endNext(true)).toEqual([entryOf(part('a'))])
  expect(await endNext(true)).toEqual([entryOf(part('b')), entryOf(part('c')), entryOf(part('b'))])
})

test('a full queue drops further notices except those of ready work', async () => {
  const { announce, notify, endNext } = openQueue()
  notify(part('first'))
  const numbers = Array.from({ length: maxNotices + 7 }, (_, index) => index)
  for (const number of numbers) announce({ ...commitOf([settled(number)]), readyWork: new Set() })
  announce(commitOf([], [7]))
  await endNext(true)
  const sent = await endNext(true)
  expect(sent.slice(-2)).toEqual([entryOf(settled(maxNotices - 1)), ['work', ['turns']]])
  expect(sent).toHaveLength(maxNotices + 1)
})

test('long pieces of an answer fill a queue sooner', async () => {
  const { notify, endNext } = openQueue()
  notify(part('first'))
  for (let each = 0; each < 10; each += 1) notify(part('x'.repeat(maxChars / 4)))
  await endNext(true)
  expect(await endNext(true)).toHaveLength(4)
})
