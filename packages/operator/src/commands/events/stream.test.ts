import { expect, test } from 'vitest'
import { createChangeRing } from './change-ring.ts'
import type { EventStore } from './stream.ts'
import { readChanges, streamChanges } from './stream.ts'

/** Opens a ring, and a function that reports changes to it. */
function openRing(capacity?: number) {
  let notify: (payload: unknown) => void = () => undefined
  const listen = (_topic: string, listener: typeof notify) => {
    notify = listener
    return () => undefined
  }
  const ring = createChangeRing({
    store: { listen },
    now: () => 1_000_000,
    ...(capacity !== undefined && { capacity }),
  })
  return { ring, notify: (payload: unknown) => notify(payload) }
}

const ranges: { after?: number | undefined; floor?: number | undefined }[] = []
const store = {
  async listMessages(range: { after: number; floor: number }) {
    ranges.push(range)
    return Array.from({ length: range.after - range.floor }, (_, index) => ({ message: range.floor + index }))
  },
} as unknown as EventStore

test('several changes of one record become one event, at the position of the last change', async () => {
  const { ring, notify } = openRing()
  for (const message of [1, 2, 1, 3, 1]) notify({ message: [message] })
  const changedRecords = await readChanges(ring.listAfter(0) ?? [], store, {})
  expect(changedRecords.map(({ number, position }) => [number, position])).toEqual([
    [2, 2],
    [3, 4],
    [1, 5],
  ])
})

test('the stream reads adjacent records together, and distant ones separately', async () => {
  const { ring, notify } = openRing()
  notify({ message: [5, 1_000_000, 9] })
  ranges.length = 0
  await readChanges(ring.listAfter(0) ?? [], store, {})
  expect(ranges.map(({ floor, after }) => [floor, after])).toEqual([
    [5, 10],
    [1_000_000, 1_000_001],
  ])
})

test('the ring ignores a payload that is not a notice', () => {
  const { ring, notify } = openRing()
  for (const payload of [null, 'x', { message: 'x' }, { message: ['x', 1.5, {}] }, { other: [1] }]) notify(payload)
  expect(ring.newest()).toBe(0)
})

test('a reader that falls too far behind gets the event "reload", and continues from there', async () => {
  const { ring, notify } = openRing(10)
  const abortController = new AbortController()
  const kinds = ['message'] as const
  const events = streamChanges({ ring, store, kinds, signal: abortController.signal, now: () => 1_000_000 })
  expect((await events.next()).value).toMatch(/^event: ready\n/)
  for (let message = 1; message <= 50; message += 1) notify({ message: [message] })
  expect((await events.next()).value).toMatch(/^event: reload\n/)
  notify({ message: [51] })
  expect((await events.next()).value).toMatch(/^event: message\nid: \S+\ndata: \{"message":51\}\n\n$/)
  abortController.abort()
  expect((await events.next()).done).toBe(true)
})
