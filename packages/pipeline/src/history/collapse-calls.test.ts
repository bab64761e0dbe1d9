import type { ToolCallPart } from '@postern/message'
import { expect, test } from 'vitest'
import { collapseCalls } from './collapse-calls.ts'

const begun: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', args: { q: 'it' } }
const ended: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', result: 3 }
const text = { kind: 'text', mime: 'text/plain', content: 'meanwhile' } as const

test('collapseCalls() joins the two halves of a call at its beginning, and keeps texts unchanged', () => {
  expect(collapseCalls([begun, text, text, ended])).toEqual([{ ...begun, result: 3 }, text, text])
  expect(collapseCalls([begun, { ...ended, args: undefined }])).toEqual([{ ...begun, result: 3 }])
  const failed = { ...begun, result: undefined, error: { message: 'no luck' } }
  expect(collapseCalls([begun, failed])).toEqual([{ ...begun, error: { message: 'no luck' } }])
})

test('collapseCalls() keeps different calls with one id apart, under separate ids', () => {
  const call = { ...begun, result: 3 }
  expect(collapseCalls([call, call, { ...begun, id: '1-2', name: 'other' }, ended]).map(({ id }) => id)).toEqual([
    '1',
    '1-2',
    '1-2-2',
    '1-3',
  ])
  expect(collapseCalls([begun, { ...ended, name: 'other' }])).toHaveLength(2)
})
