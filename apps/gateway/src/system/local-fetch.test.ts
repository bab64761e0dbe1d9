import type { FetchAnswer, StreamAnswer } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { openLocalFetch } from './local-fetch.ts'

const networkAnswer: FetchAnswer = { status: 299, headers: new Headers(), url: '', body: new Uint8Array() }
const networkStream: StreamAnswer = { status: 299, headers: new Headers(), body: (async function* () {})() }
const onCancel = vi.fn()
const app = new Hono()
  .post('/a2a', async context => context.text(`heard ${await context.req.text()} ${context.req.header('x')}`, 201))
  .get('/a2a/big', context => context.text('x'.repeat(100)))
  .get('/a2a/never', () => new Promise<Response>(() => undefined))
  .get('/a2a/stream', () => {
    const body = new ReadableStream({
      start: controller => controller.enqueue(new TextEncoder().encode('one')),
      cancel: onCancel,
    })
    return new Response(body)
  })
const localFetch = openLocalFetch(
  { fetch: async () => networkAnswer, openStream: async () => networkStream },
  { app, origins: ['https://agents.test'], channels: [{ descriptor: { openPaths: ['a2a'] } }] },
)

test('openLocalFetch() answers requests to our own URLs from our own routes', async () => {
  const answer = await localFetch.fetch('https://agents.test/a2a', {
    method: 'POST',
    headers: { x: 'y' },
    body: 'words',
  })
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
])('openLocalFetch() onCancel %s to the network', async url => {
  expect(await localFetch.fetch(url)).toBe(networkAnswer)
  expect(await localFetch.openStream?.(url)).toBe(networkStream)
})

test('openLocalFetch() applies the limits of the request', async () => {
  const pendingLargeFetch = localFetch.fetch('https://agents.test/a2a/big', { maxBytes: 99 })
  await expect(pendingLargeFetch).rejects.toThrow(
    new Undeliverable('Cannot fetch: answer is too large: more than 99 bytes'),
  )
  const controller = new AbortController()
  const pendingFetch = localFetch.fetch('https://agents.test/a2a/never', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(pendingFetch).rejects.toThrow('enough')
  await expect(localFetch.fetch('https://agents.test/a2a/big', { signal: controller.signal })).rejects.toThrow('enough')
})

test('openLocalFetch() waits no longer than the request allows, and reads at most its limit', async () => {
  onCancel.mockClear()
  const timeoutError = new Unavailable('Cannot fetch: no answer in time')
  await expect(localFetch.fetch('https://agents.test/a2a/never', { timeoutMs: 20 })).rejects.toThrow(timeoutError)
  await expect(localFetch.fetch('https://agents.test/a2a/stream', { timeoutMs: 20 })).rejects.toThrow(timeoutError)
  expect(onCancel).toHaveBeenCalledTimes(1)
  const pendingStream = localFetch.fetch('https://agents.test/a2a/stream', { maxBytes: 2 })
  await expect(pendingStream).rejects.toThrow(new Undeliverable('Cannot fetch: answer is too large: more than 2 bytes'))
  expect(onCancel).toHaveBeenCalledTimes(2)
  onCancel.mockClear()
})

test('openLocalFetch() cancels a stream that begins after its caller gave up', async () => {
  onCancel.mockClear()
  const controller = new AbortController()
  const pendingOpening = localFetch.openStream?.('https://agents.test/a2a/stream', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(pendingOpening).rejects.toThrow('enough')
  await expect.poll(() => onCancel.mock.calls.length).toBe(1)
  onCancel.mockClear()
})

test('openLocalFetch() streams until the reader onCancel or aborts', async () => {
  const open = (signal?: AbortSignal) => localFetch.openStream?.('https://agents.test/a2a/stream', signal && { signal })
  for await (const piece of (await open())?.body ?? []) {
    expect(Buffer.from(piece).toString()).toBe('one')
    break
  }
  expect(onCancel).toHaveBeenCalledTimes(1)
  const controller = new AbortController()
  const pieces = (await open(controller.signal))?.body[Symbol.asyncIterator]()
  await pieces?.next()
  controller.abort(new Error('enough'))
  await expect(pieces?.next()).rejects.toThrow('enough')
  expect(onCancel).toHaveBeenCalledTimes(2)
})
