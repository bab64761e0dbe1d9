import { expect, test } from 'vitest'
import { createEventLog } from './feed-state.ts'

const event = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } as never

test('a ring keeps the newest 256 events, and knows when a reader has missed more', () => {
  const ring = createEventLog('ab', () => true)
  for (let count = 0; count < 300; count += 1) ring.put(event)
  expect(ring.after('ab-44')).toHaveLength(256)
  expect(ring.after('ab-43')).toBeUndefined()
  expect(ring.after('ab-301')).toBeUndefined()
  expect(ring.after('cd-299')).toBeUndefined()
})
