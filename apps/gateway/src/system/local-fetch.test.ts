import type { FetchAnswer, StreamAnswer } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { openLocalFetch } from './local-fetch.ts'

const outside: FetchAnswer = { status: 299, headers: new Headers(), url: '', body: new Uint8Array() }
const outsideStream: StreamAnswer = { status: 299, headers: new Headers(), body: (async function* () {})() }
const leaves = vi.fn()
const app = new Hono()
  .post('/a2a', async context => context.text(`heard ${await context.req.text()} ${context.req.header('x')}`, 201))
  .get('/a2a/big', context => context.text('x'.repeat(100)))
  .get('/a2a/never', () => new Promise<Response>(() => undefined))
  .get('/a2a/stream', () => {
    const body = new ReadableStream({
      start: controller => controller.enqueue(new TextEncoder().encode('one')),
      cancel: leaves,
    })
    return new Response(body)
  })
const endpoint = openLocalFetch(
  { fetch: async () => outside, openStream: async () => outsideStream },
  { app, origins: ['https://agents.test'], channels: [{ descriptor: { openPaths: ['a2a'] } }] },
)

test('openLocalFetch() answers requests to our own URLs from our own routes', async () => {
  const answer = await endpoint.fetch('https://agents.test/a2a', { method: 'POST', headers: { x: 'y' }, body: 'words' })
  expect([answer.status, Buffer.from(answer.body).toString()]).toEqual([201, 'heard words y'])
})

test.each([
  'https://agents.test:444/a2a',
  'http://agents.test/a2a',
  'https://agents.test.evil.test/a2a',
  'https://agents.test/operator/api/messages',
  'https://agents.test/a2a/../operator/api/messages',
  'https://agents.test/a2ax',
  'not a URL',
])('openLocalFetch() leaves %s to the network', async url => {
  expect(await endpoint.fetch(url)).toBe(outside)
  expect(await endpoint.openStream?.(url)).toBe(outsideStream)
})

test('openLocalFetch() applies the limits of the request', async () => {
  const big = endpoint.fetch('https://agents.test/a2a/big', { maxBytes: 99 })
  await expect(big).rejects.toThrow(new Undeliverable('Cannot fetch: answer is too large: more than 99 bytes'))
  const controller = new AbortController()
  const pendingFetch = endpoint.fetch('https://agents.test/a2a/never', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(pendingFetch).rejects.toThrow('enough')
  await expect(endpoint.fetch('https://agents.test/a2a/big', { signal: controller.signal })).rejects.toThrow('enough')
})

test('openLocalFetch() waits no longer than the request allows, and reads at most its limit', async () => {
  leaves.mockClear()
  const late = new Unavailable('Cannot fetch: no answer in time')
  await expect(endpoint.fetch('https://agents.test/a2a/never', { timeoutMs: 20 })).rejects.toThrow(late)
  await expect(endpoint.fetch('https://agents.test/a2a/stream', { timeoutMs: 20 })).rejects.toThrow(late)
  expect(leaves).toHaveBeenCalledTimes(1)
  const large = endpoint.fetch('https://agents.test/a2a/stream', { maxBytes: 2 })
  await expect(large).rejects.toThrow(new Undeliverable('Cannot fetch: answer is too large: more than 2 bytes'))
  expect(leaves).toHaveBeenCalledTimes(2)
  leaves.mockClear()
})

test('openLocalFetch() cancels a stream that begins after its caller gave up', async () => {
  leaves.mockClear()
  const controller = new AbortController()
  const opening = endpoint.openStream?.('https://agents.test/a2a/stream', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(opening).rejects.toThrow('enough')
  await expect.poll(() => leaves.mock.calls.length).toBe(1)
  leaves.mockClear()
})

test('openLocalFetch() streams until the reader leaves or aborts', async () => {
  const open = (signal?: AbortSignal) => endpoint.openStream?.('https://agents.test/a2a/stream', signal && { signal })
  for await (const piece of (await open())?.body ?? []) {
    expect(Buffer.from(piece).toString()).toBe('one')
    break
  }
  expect(leaves).toHaveBeenCalledTimes(1)
  const controller = new AbortController()
  const pieces = (await open(controller.signal))?.body[Symbol.asyncIterator]()
  await pieces?.next()
  controller.abort(new Error('enough'))
  await expect(pieces?.next()).rejects.toThrow('enough')
  expect(leaves).toHaveBeenCalledTimes(2)
})
