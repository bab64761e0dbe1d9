import { expect, test } from 'vitest'
import { createChunkQueue } from './chunk-queue.ts'

async function readAll(queue: AsyncIterable<number>): Promise<readonly number[]> {
  const read: number[] = []
  for await (const chunk of queue) read.push(chunk)
  return read
}

test('createChunkQueue() yields its chunks in order, also those that arrive during reading', async () => {
  const queue = createChunkQueue<number>()
  queue.add(1)
  queue.add(2)
  const read: number[] = []
  for await (const chunk of queue) {
    read.push(chunk)
    if (chunk === 1) queue.add(3)
    if (chunk === 3) queue.end()
  }
  expect(read).toEqual([1, 2, 3])
})

test('createChunkQueue() yields the chunks before a failure, then throws', async () => {
  const queue = createChunkQueue<number>()
  const read: number[] = []
  queue.add(1)
  queue.fail(new Error('no more'))
  const reading = (async () => {
    for await (const chunk of queue) read.push(chunk)
  })()
  await expect(reading).rejects.toThrow('no more')
  expect(read).toEqual([1])
})

test('createChunkQueue() holds half a million chunks and yields them in linear time', async () => {
  const queue = createChunkQueue<number>()
  for (let count = 0; count < 500_000; count += 1) queue.add(count)
  queue.end()
  expect((await readAll(queue)).length).toBe(500_000)
})
