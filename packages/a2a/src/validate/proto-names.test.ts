import { expect, test } from 'vitest'
import { readProtoNames } from './proto-names.ts'

test('readProtoNames() returns an object with JSON names unchanged', () => {
  const params = { message: { messageId: '1', parts: [{ text: 'x', metadata: { task_id: 1 } }] }, configuration: {} }
  expect(readProtoNames(params)).toBe(params)
})

test('readProtoNames() accepts protobuf names wherever our members may occur', () => {
  const data = { message_id: 'kept', parts: [{ media_type: 'kept' }] }
  const params = {
    message: {
      message_id: '1',
      context_id: 'c',
      parts: [
        { raw: 'aGk=', media_type: 'text/plain' },
        { data, metadata: data },
      ],
    },
    configuration: { history_length: 1, return_immediately: true, task_push_notification_config: { task_id: 't' } },
    page_size: 3,
  }
  expect(readProtoNames(params)).toEqual({
    message: {
      messageId: '1',
      contextId: 'c',
      parts: [
        { raw: 'aGk=', mediaType: 'text/plain' },
        { data, metadata: data },
      ],
    },
    configuration: { historyLength: 1, returnImmediately: true, taskPushNotificationConfig: { taskId: 't' } },
    pageSize: 3,
  })
})

test('readProtoNames() prefers the JSON name where both names occur', () => {
  expect(readProtoNames({ taskId: 'a', task_id: 'b' })).toMatchObject({ taskId: 'a' })
})

test.each([null, 'x', [], 5, { message: 'x' }, { message: { parts: 'x' } }])(
  'readProtoNames() ignores a value that is not an object: %j',
  value => {
    expect(readProtoNames(value)).toBe(value)
  },
)

test('readProtoNames() treats __proto__ as any other member', () => {
  const params = JSON.parse('{"__proto__":{"task_id":"x"},"page_size":1}')
  const read = readProtoNames(params) as Record<string, unknown>
  expect(read.pageSize).toBe(1)
  expect(({} as Record<string, unknown>).task_id).toBeUndefined()
})
