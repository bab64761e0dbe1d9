import type { Part, PartialResponse } from '@postern/message'
import { normalizedResponseSchema } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { message } from '../../../test/messages.ts'
import { completeResponse, createFailedAnswer } from './complete-response.ts'

function markdown(content: string): Part {
  return { kind: 'text', mime: 'text/markdown', content }
}

describe('completeResponse()', () => {
  const turn = { content: message() }
  const identity = { id: '01', createdAt: '2026-01-01T00:00:01.000Z' }

  test('adds the members that the gateway knows', () => {
    const response = completeResponse({ parts: [markdown('hi')] }, turn, identity)
    expect(normalizedResponseSchema.parse(response)).toEqual({
      id: '01',
      thread_id: 'https://peer.test/contexts/1',
      in_reply_to: 'https://peer.test/activities/1',
      sender: '@echo@agents.test',
      parts: [markdown('hi')],
      status: 'completed',
      created_at: '2026-01-01T00:00:01.000Z',
    })
  })

  test('keeps the members that the agent set', () => {
    const partialResponse: PartialResponse = {
      status: 'rejected',
      subject: 'No',
      visibility: 'direct',
      mentions: ['@b@c.test'],
    }
    expect(completeResponse(partialResponse, turn, identity)).toMatchObject({ ...partialResponse, parts: [] })
  })

  test('throws for a completed answer without content', () => {
    expect(() => completeResponse({}, turn, identity)).toThrow('a completed response needs at least one part')
  })
})

test('createFailedAnswer() tells the peer only the reference of the failure', () => {
  expect(createFailedAnswer('c0ffee')).toEqual({
    status: 'failed',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'Sorry, this could not be answered. Reference: c0ffee' }],
  })
})
