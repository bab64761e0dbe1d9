import { describe, expect, test } from 'vitest'
import { normalizedResponseSchema, partialResponseSchema, responseStatuses } from './response.ts'

const response = {
  id: '01',
  thread_id: 't',
  in_reply_to: 'm',
  sender: '@echo@agents.test',
  parts: [{ kind: 'text', mime: 'text/markdown', content: 'hi' }],
  status: 'completed',
  created_at: '2026-01-01T00:00:00.000Z',
}

describe('normalizedResponseSchema', () => {
  test('accepts a complete response (MN-3)', () => {
    expect(normalizedResponseSchema.parse(response)).toEqual(response)
  })

  test('requires a part only in a complete response', () => {
    for (const status of responseStatuses) {
      const { success, error } = normalizedResponseSchema.safeParse({ ...response, status, parts: [] })
      expect([status, success]).toEqual([status, status !== 'completed'])
      if (!success)
        expect(error.issues[0]).toMatchObject({
          path: ['parts'],
          message: 'a completed response needs at least one part',
        })
    }
  })

  test('refuses an unknown status, visibility or time', () => {
    for (const invalidMember of [{ status: 'done' }, { visibility: 'secret' }, { created_at: 'now' }]) {
      expect(normalizedResponseSchema.safeParse({ ...response, ...invalidMember }).success).toBe(false)
    }
  })
})

describe('partialResponseSchema', () => {
  test('omits what only the gateway decides', () => {
    const { parts, status } = response
    expect(partialResponseSchema.parse(response)).toEqual({ parts, status })
  })

  test('refuses a malformed part', () => {
    expect(partialResponseSchema.safeParse({ parts: [{ kind: 'text' }] }).success).toBe(false)
  })
})
