import { expect, test } from 'vitest'
import { endWithSession } from './session-stream.ts'

const encoder = new TextEncoder()

/** Opens an event stream that never ends by itself. */
function openStream() {
  const state = { isCanceled: false }
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(encoder.encode('data: 1\n\n')),
    cancel() {
      state.isCanceled = true
    },
  })
  return { response: new Response(body, { headers: { 'content-type': 'text/event-stream' } }), state }
}

test('a stream ends with its session, and cancels its source', async () => {
  const { response, state } = openStream()
  let isOpen = true
  const text = endWithSession(response, async () => isOpen, 10).text()
  await new Promise(resolve => setTimeout(resolve, 50))
  expect(state.isCanceled).toBe(false)
  isOpen = false
  expect(await text).toBe('data: 1\n\n')
  expect(state.isCanceled).toBe(true)
})

test('a stream continues while the state of its session is unknown', async () => {
  const { response, state } = openStream()
  const reader = endWithSession(response, () => Promise.reject(new Error('the store is away')), 10).body?.getReader()
  await reader?.read()
  await new Promise(resolve => setTimeout(resolve, 50))
  expect(state.isCanceled).toBe(false)
  await reader?.cancel()
  expect(state.isCanceled).toBe(true)
})

test('a response that is no event stream stays unchanged', () => {
  const response = Response.json({})
  expect(endWithSession(response, async () => false)).toBe(response)
})
