import type { ToolCallPart } from '@postern/message'
import { expect, test } from 'vitest'
import { collapseCalls } from './collapse-calls.ts'

const callStart: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', args: { q: 'it' } }
const endedCall: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', result: 3 }
const text = { kind: 'text', mime: 'text/plain', content: 'meanwhile' } as const

test('collapseCalls() joins the two halves of a call at its beginning, and keeps texts unchanged', () => {
  expect(collapseCalls([callStart, text, text, endedCall])).toEqual([{ ...callStart, result: 3 }, text, text])
  expect(collapseCalls([callStart, { ...endedCall, args: undefined }])).toEqual([{ ...callStart, result: 3 }])
  const failedCall = { ...callStart, result: undefined, error: { message: 'no luck' } }
  expect(collapseCalls([callStart, failedCall])).toEqual([{ ...callStart, error: { message: 'no luck' } }])
})

test('collapseCalls() keeps different calls with one id apart, under separate ids', () => {
  const call = { ...callStart, result: 3 }
  expect(
    collapseCalls([call, call, { ...callStart, id: '1-2', name: 'other' }, endedCall]).map(({ id }) => id),
  ).toEqual(['1', '1-2', '1-2-2', '1-3'])
  expect(collapseCalls([callStart, { ...endedCall, name: 'other' }])).toHaveLength(2)
})
