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
  test('takes a whole response (MN-3)', () => {
    expect(normalizedResponseSchema.parse(response)).toEqual(response)
  })

  test('needs a part when the response is complete, and none otherwise', () => {
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

  test('refuses a status, a visibility or a time it does not know', () => {
    for (const wrong of [{ status: 'done' }, { visibility: 'secret' }, { created_at: 'now' }]) {
      expect(normalizedResponseSchema.safeParse({ ...response, ...wrong }).success).toBe(false)
    }
  })
})

describe('partialResponseSchema', () => {
  test('leaves out what only the gateway decides', () => {
    const { parts, status } = response
    expect(partialResponseSchema.parse(response)).toEqual({ parts, status })
  })

  test('refuses a malformed part', () => {
    expect(partialResponseSchema.safeParse({ parts: [{ kind: 'text' }] }).success).toBe(false)
  })
})
