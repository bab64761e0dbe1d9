import { ReadableStream } from 'node:stream/web'
import { expect, test } from 'vitest'
import { maskAnswer } from './masked-answer.ts'
import { createSecretMask } from './secret-mask.ts'

const mask = createSecretMask(['first-secret'])
const createMaskedResponse = (body: ReadableStream<Uint8Array>) =>
  maskAnswer(new Response(body as BodyInit, { status: 201, headers: { 'content-type': 'text/event-stream' } }), mask)

test('a streamed response shows no secret, wherever its chunks end', async () => {
  const bytes = new TextEncoder().encode('data: ü first-secret\n\nrest of first-secret')
  const pieces = [...bytes].map(byte => Uint8Array.of(byte))
  const response = createMaskedResponse(ReadableStream.from(pieces))
  expect([response.status, response.headers.get('content-type')]).toEqual([201, 'text/event-stream'])
  expect(await response.text()).toBe('data: ü (set)\n\nrest of (set)')
})

test('a masked stream passes on each event at once, and ends when its reader leaves', async () => {
  const cancelReasons: unknown[] = []
  const source = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode('data: first-secret\n\n')),
    cancel: reason => void cancelReasons.push(reason),
  })
  const reader = createMaskedResponse(source).body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: (set)\n\n')
  await reader?.cancel('left')
  expect(cancelReasons).toEqual(['left'])
})
