import { expect, test } from 'vitest'
import type { ToolCallPart } from '../message/part.ts'
import { collapseCalls } from './history.ts'

const begun: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', args: { q: 'it' } }
const ended: ToolCallPart = { kind: 'tool_call', id: '1', name: 'find', result: 3 }
const text = { kind: 'text', mime: 'text/plain', content: 'meanwhile' } as const

test('collapseCalls() joins both halves of a call where it began, and leaves texts apart', () => {
  expect(collapseCalls([begun, text, text, ended])).toEqual([{ ...begun, result: 3 }, text, text])
  expect(collapseCalls([begun, { ...ended, args: undefined }])).toEqual([{ ...begun, result: 3 }])
  const failed = { ...begun, result: undefined, error: { message: 'no luck' } }
  expect(collapseCalls([begun, failed])).toEqual([{ ...begun, error: { message: 'no luck' } }])
})

test('collapseCalls() keeps calls that are not one, each under an id of its own', () => {
  const whole = { ...begun, result: 3 }
  expect(collapseCalls([whole, whole, { ...begun, id: '1-2', name: 'other' }, ended]).map(({ id }) => id)).toEqual([
    '1',
    '1-2',
    '1-2-2',
    '1-3',
  ])
  expect(collapseCalls([begun, { ...ended, name: 'other' }])).toHaveLength(2)
})
