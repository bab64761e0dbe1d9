import type { Json, NormalizedMessage, Part } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { readPayload } from './payload.ts'

const messageOf = (overrides: Partial<NormalizedMessage> = {}) => ({
  parts: [],
  received_via: 'email',
  raw: undefined,
  ...overrides,
})
const data = (value: Json): Part =>
  ({ kind: 'artifact', data: value, bytes_ref: { kind: 'inline', data_base64: '' } }) as Part

describe('readPayload()', () => {
  test.each<[schema: Json | undefined, text: string, payload: Json]>([
    [undefined, '4711', '4711'],
    [undefined, '{"a":1}', '{"a":1}'],
    [{ type: 'string' }, '4711', '4711'],
    [{ type: ['string', 'null'] }, 'null', null],
    [{ type: 'integer' }, '4711', 4711],
    [{ type: 'integer' }, '47.11', '47.11'],
    [{ type: 'number' }, '47.11', 47.11],
    [{ type: 'boolean' }, 'true', true],
    [{ type: 'boolean' }, 'yes', 'yes'],
    [{ type: 'object' }, '{"a":[1]}', { a: [1] }],
    [{ type: 'object' }, '[1]', '[1]'],
    [{ properties: { a: {} } }, '{"a":1}', { a: 1 }],
    [{ items: {} }, '[1,2]', [1, 2]],
    [{ enum: [1, 2] }, '2', 2],
    [{ const: null }, 'null', null],
    [{ anyOf: [{ type: 'string' }, { type: 'array' }] }, '[1]', [1]],
    [{ type: 'object' }, 'the blue one', 'the blue one'],
  ])('parses text for the schema %j only if the schema accepts the value: %s', (schema, text, payload) => {
    expect(readPayload(messageOf(), text, schema)).toEqual(payload)
  })
})

test('readPayload() returns the data part of another agent’s message', () => {
  expect(readPayload(messageOf({ parts: [data({ size: 'L' })] }), '[answer]', undefined)).toEqual({ size: 'L' })
  expect(readPayload(messageOf({ parts: [data(null)] }), '', undefined)).toBeNull()
  expect(readPayload(messageOf({ parts: [data(1), data([2])] }), '', undefined)).toEqual([1, [2]])
})

test('readPayload() keeps the JSON that a chat client sends', () => {
  const resume = (payload: Json) => ({ resume: [{ interruptId: 'i', status: 'resolved', payload }] })
  const web = (raw: unknown) => messageOf({ received_via: 'web', raw })
  expect(readPayload(web(resume({ size: ['L'] })), '{"size":["L"]}', undefined)).toEqual({ size: ['L'] })
  expect(readPayload(web(resume(false)), 'false', undefined)).toBe(false)
  expect(readPayload(web(resume('L')), 'L', undefined)).toBe('L')
  expect(readPayload(web({ messages: [] }), 'L', undefined)).toBe('L')
  expect(readPayload(messageOf({ raw: resume({ a: 1 }) }), 'words', undefined)).toBe('words')
})
