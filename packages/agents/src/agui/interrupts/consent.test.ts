import type { Json } from '@postern/message'
import { expect, test } from 'vitest'
import { readConsent } from './consent.ts'

const approved = { granted: { approved: true }, declined: { approved: false } }

test.each<[schema: Json | undefined, consent: object | undefined]>([
  [{ properties: { approved: { type: 'boolean' } } }, approved],
  [{ properties: { approved: { type: 'boolean' }, note: { type: 'string' } }, required: ['approved'] }, approved],
  [{ properties: { approved: { type: 'boolean' }, note: {} }, required: ['approved', 'note'] }, undefined],
  [{ properties: { approved: { type: 'string' } } }, undefined],
  [{ type: 'boolean' }, undefined],
  [undefined, undefined],
])('readConsent() maps the schema %j to %j', (schema, consent) => {
  expect(readConsent(schema, 'Really?', false)).toEqual(consent)
  expect(readConsent(schema, 'Really?', true)).toEqual(consent && { ...consent, isStrict: true })
})

const config = (...allowed_decisions: string[]) => ({ action_name: 'pay', allowed_decisions })
const branch = (type: string) => ({ properties: { type: { const: type, type: 'string' } } })

test('readConsent() approves or rejects all calls of a LangChain review', () => {
  const actions = [{ name: 'pay' }, { name: 'pay' }]
  const read = (...configs: object[]) =>
    readConsent(undefined, { action_requests: actions, review_configs: configs }, false)
  expect(read(config('approve', 'edit', 'reject'), config('reject', 'approve'))).toEqual({
    granted: { decisions: [{ type: 'approve' }, { type: 'approve' }] },
    declined: { decisions: [{ type: 'reject' }, { type: 'reject' }] },
    isStrict: true,
  })
  expect(read(config('approve', 'reject'), config('approve', 'edit'))).toBeUndefined()
  expect(readConsent(undefined, { action_requests: [], review_configs: [] }, false)).toBeUndefined()
})

test('readConsent() approves or rejects the single call of a LangChain review', () => {
  const value = { type: 'tool_approval', name: 'pay', args: {} }
  expect(readConsent({ oneOf: [branch('approve'), branch('reject')] }, value, true)).toEqual({
    granted: { type: 'approve' },
    declined: { type: 'reject' },
    isStrict: true,
  })
  expect(readConsent({ oneOf: [branch('approve'), branch('respond')] }, value, true)).toBeUndefined()
})
