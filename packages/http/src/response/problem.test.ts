import type { Log, RejectionCode } from '@postern/message'
import { Rejection, rejectionCodes, Unavailable, Undeliverable } from '@postern/message'
import { expect, test } from 'vitest'
import { toProblem } from './problem.ts'

const statuses: Readonly<Record<RejectionCode, number>> = {
  malformed: 400,
  too_large: 413,
  unsupported: 415,
  unsigned: 401,
  signature_invalid: 401,
  signer_mismatch: 401,
  expired: 401,
  replayed: 401,
  forbidden: 403,
  no_recipient: 404,
  rate_limited: 429,
}

function recordLog() {
  const lines: unknown[][] = []
  const write =
    (level: string): Log['error'] =>
    (fields, text) =>
      lines.push([level, fields, text])
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  return { log, lines }
}

test.each(rejectionCodes)('toProblem() gives "%s" its status, without more than the message', async code => {
  const { log, lines } = recordLog()
  const answer = toProblem(new Rejection(code, 'Cannot verify activity: x', { cause: new Error('secret') }), log)
  expect(answer.status).toBe(statuses[code])
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.headers.get('www-authenticate')).toBeNull()
  expect(await answer.json()).toEqual({
    title: expect.stringMatching(/^[A-Z]/),
    status: statuses[code],
    detail: 'Cannot verify activity: x',
    code,
  })
  expect(lines).toEqual([])
})

test('toProblem() names the invalid members', async () => {
  const violations = [{ field: 'message.parts', description: 'must not be empty' }]
  const answer = toProblem(new Rejection('malformed', 'Cannot read message: x', { violations }))
  expect(await answer.json()).toMatchObject({ violations })
})

test('toProblem() closes the connection of a body that is too large (A2A-E16)', () => {
  expect(toProblem(new Rejection('too_large', 'x')).headers.get('connection')).toBe('close')
  expect(toProblem(new Rejection('malformed', 'x')).headers.get('connection')).toBeNull()
})

test.each([
  ['rate_limited with a time', new Rejection('rate_limited', 'x', { retryAfter: 7 }), 429, '7'],
  ['rate_limited without one', new Rejection('rate_limited', 'x'), 429, '60'],
  ['Unavailable with a time', new Unavailable('x', { retryAfter: 0.2 }), 503, '1'],
  ['Unavailable without one', new Unavailable('x'), 503, '60'],
])('toProblem() sets Retry-After: %s', (_, error, status, retryAfter) => {
  const answer = toProblem(error)
  expect(answer.status).toBe(status)
  expect(answer.headers.get('retry-after')).toBe(retryAfter)
})

test('toProblem() logs the unavailable dependency', async () => {
  const { log, lines } = recordLog()
  const error = new Unavailable('Cannot fetch: no answer in time')
  const answer = toProblem(error, log)
  expect(await answer.json()).toMatchObject({ status: 503, detail: error.message, code: 'unavailable' })
  expect(lines).toEqual([['warn', { err: error }, 'request answered as unavailable']])
})

test.each([new TypeError('secret'), new Undeliverable('secret'), 'secret', undefined])(
  'toProblem() answers the internal error %s with 500 without detail, and logs it once',
  async error => {
    const { log, lines } = recordLog()
    const answer = toProblem(error, log)
    expect(answer.status).toBe(500)
    expect(await answer.json()).toEqual({ title: 'Internal Server Error', status: 500 })
    expect(lines).toEqual([['error', { err: error }, 'request failed']])
  },
)
