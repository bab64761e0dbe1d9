import { expect, test } from 'vitest'
import { createEventLog } from './event-log.ts'

const event = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } as never

test('the event log keeps the newest 256 events, and detects a reader that has missed more', () => {
  const eventLog = createEventLog('ab', () => true)
  for (let count = 0; count < 300; count += 1) eventLog.add(event)
  expect(eventLog.eventsAfter('ab-44')).toHaveLength(256)
  expect(eventLog.eventsAfter('ab-43')).toBeUndefined()
  expect(eventLog.eventsAfter('ab-301')).toBeUndefined()
  expect(eventLog.eventsAfter('cd-299')).toBeUndefined()
})
