import { expect, test } from 'vitest'
import { createBatch } from '../transaction/batch.ts'
import type { FirstMessage } from '../transaction/first-message.ts'
import { createFirstMessages } from './first-messages.ts'

const first: FirstMessage = {
  agent: 'echo',
  channel: 'a2a',
  thread_id: 1,
  key: 't',
  public_id: '53a93a1e-8f47-4a5f-b6a7-0c4e8a1d2f60',
  envelope: '{"id":"m1"}',
  content: '[]',
  flags: null,
  target: 'null',
  correlation_id: 'c',
  owner: null,
  native_id: null,
  raw: { bytes: new TextEncoder().encode('{"id":"m1"}'), form: 'json' },
}
const batchWith = (...messages: readonly [number, FirstMessage | undefined][]) => {
  const batch = createBatch()
  for (const [number, message] of messages) batch.firstMessages.set(number, message)
  return batch
}

test('a reused number shows nothing of the earlier message, inside its transaction and after', () => {
  const messages = createFirstMessages()
  messages.remember(batchWith([7, first], [8, first]).firstMessages)
  expect(messages.find(createBatch(), 7)).toMatchObject({ number: 7, content: { id: 'm1', raw: { id: 'm1' } } })
  const later = batchWith([7, undefined])
  expect(messages.find(later, 7)).toBeUndefined()
  messages.remember(later.firstMessages)
  expect(messages.find(createBatch(), 7)).toBeUndefined()
  expect(messages.find(createBatch(), 8)).toBeDefined()
})
