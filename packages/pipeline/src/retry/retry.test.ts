import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeFailure } from './describe-failure.ts'
import type { FailedAttempt } from './retry.ts'
import { defaultRetryPolicy, settleFailedAttempt, settlePostponed } from './retry.ts'

const policy = { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 }
const firstTry: FailedAttempt = { error: new Unavailable('No answer'), attempt: 1, now: 0, random: 0 }

function computeDueAt(members: Partial<FailedAttempt>): number {
  const settlement = settleFailedAttempt({ ...firstTry, ...members }, policy)
  if (settlement.state !== 'later') throw new Error(`expected "later", got "${settlement.state}"`)
  return settlement.dueAt
}

describe('settleFailedAttempt()', () => {
  test('retries later if the peer did not answer', () => {
    expect(settleFailedAttempt(firstTry, policy)).toEqual({
      state: 'later',
      dueAt: 500,
      reason: 'unavailable',
      error: 'No answer',
    })
  })

  test('gives up at once after a final refusal', () => {
    const error = new Undeliverable('The inbox is gone')
    expect(settleFailedAttempt({ ...firstTry, error }, policy)).toEqual({
      state: 'dead',
      reason: 'refused',
      error: 'The inbox is gone',
    })
  })

  test('gives up at the time limit, and states the number of attempts', () => {
    const lateAttempt = { ...firstTry, attempt: 9, firstAttemptAt: 0, now: policy.giveUpAfterMs }
    expect(settleFailedAttempt(lateAttempt, policy)).toEqual({
      state: 'dead',
      reason: 'given_up',
      error: 'given up after 9 tries: No answer',
    })
  })

  test('doubles the delay with each attempt up to the maximum', () => {
    const waits = [1, 2, 3, 6, 7, 8, 400].map(attempt => computeDueAt({ attempt, random: 0.999_999 }))
    expect(waits).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('spreads the delay over its upper half', () => {
    const attempts = fc.integer({ min: 1, max: 40 })
    const chances = fc.integer({ min: 0, max: 255 }).map(byte => byte / 256)
    fc.assert(
      fc.property(attempts, chances, (attempt, random) => {
        const full = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1))
        const wait = computeDueAt({ attempt, random })
        expect(wait).toBeGreaterThanOrEqual(full / 2)
        expect(wait).toBeLessThanOrEqual(full)
        expect(Number.isInteger(wait)).toBe(true)
      }),
    )
  })

  test('never retries before the peer’s Retry-After, even beyond the maximum', () => {
    const seconds = fc.integer({ min: 0, max: 3_500 })
    fc.assert(
      fc.property(seconds, fc.integer({ min: 1, max: 10 }), (retryAfter, attempt) => {
        const error = new Unavailable('Busy', { retryAfter })
        expect(computeDueAt({ error, attempt })).toBeGreaterThanOrEqual(retryAfter * 1_000)
      }),
    )
    expect(computeDueAt({ error: new Unavailable('Busy', { retryAfter: 600 }) })).toBe(600_000)
  })

  test.each([Number.NaN, Number.NEGATIVE_INFINITY, 1e14])(
    'bounds the wait %d of an error from another copy of the class',
    retryAfter => {
      const error = Object.assign(new Error('Busy'), { name: 'Unavailable', code: 'unavailable', retryAfter })
      expect(computeDueAt({ error })).toBeLessThanOrEqual(604_800_000)
    },
  )

  test('honours a Retry-After of at least a second, and uses growing delays from the eleventh attempt on', () => {
    const busy = (retryAfter: number) => new Unavailable('Busy', { retryAfter })
    expect([3, 0.01, 0].map(retryAfter => computeDueAt({ error: busy(retryAfter), attempt: 10 }))).toEqual([
      3_000, 1_000, 1_000,
    ])
    expect(computeDueAt({ error: busy(3), attempt: 11 })).toBe(policy.maxDelayMs / 2)
  })

  test('returns whole milliseconds, like the store', () => {
    expect(computeDueAt({ random: 1 / 256 })).toBe(502)
    expect(computeDueAt({ error: new Unavailable('Busy', { retryAfter: 1.000_01 }) })).toBe(1_001)
  })

  test('makes the last attempt at the time limit if the next one would be later', () => {
    const busy = new Unavailable('Busy', { retryAfter: 259_200 })
    expect(computeDueAt({ error: busy })).toBe(3_600_000)
    expect(computeDueAt({ firstAttemptAt: 0, now: 3_599_000, attempt: 9 })).toBe(3_600_000)
    expect(settleFailedAttempt({ ...firstTry, error: busy, firstAttemptAt: 0, now: 3_600_000 }, policy).state).toBe(
      'dead',
    )
  })

  test('counts the time limit from the first attempt, even if that was late', () => {
    const week = 7 * 86_400_000
    expect(computeDueAt({ now: week })).toBe(week + 500)
    expect(computeDueAt({ firstAttemptAt: week, now: week + 3_000_000, attempt: 2 })).toBe(week + 3_001_000)
  })

  test('retries after an internal error, without its message', () => {
    const settlement = settleFailedAttempt({ ...firstTry, error: new TypeError('secret is undefined') }, policy)
    expect(settlement).toMatchObject({ state: 'later', error: 'internal error, see the log' })
  })
})

describe('settlePostponed()', () => {
  const reason = 'host_left_alone' as const
  const sentence = 'its host is silent'
  const postponedAttempt = {
    waitUntil: 1_000_000,
    reason,
    description: sentence,
    attempt: 3,
    firstAttemptAt: 0,
    now: 0,
    random: 0,
  }

  test('retries after the wait, without counting an attempt', () => {
    const laterSettlement = { state: 'later', dueAt: 1_000_000, reason, error: sentence, isUncounted: true }
    expect(settlePostponed(postponedAttempt, policy)).toEqual(laterSettlement)
  })

  test.each([
    ['a tenth of the wait', { waitUntil: 100_000, random: 0.5 }, 105_000],
    ['a minute at most', { waitUntil: 2_000_000, random: 0.5 }, 2_030_000],
    ['whole milliseconds', { waitUntil: 1_001, random: 1 / 256 }, 1_002],
  ])('spreads the retry over %s', (_, members, dueAt) => {
    expect(settlePostponed({ ...postponedAttempt, ...members }, policy)).toMatchObject({ dueAt })
  })

  test('makes a last attempt at the time limit', () => {
    expect(settlePostponed({ ...postponedAttempt, waitUntil: 9_000_000 }, policy)).toMatchObject({ dueAt: 3_600_000 })
  })

  test('gives up at the time limit, and states the attempts', () => {
    const error = 'given up after 2 tries: its host is silent'
    expect(settlePostponed({ ...postponedAttempt, now: 3_600_000 }, policy)).toEqual({
      state: 'dead',
      reason: 'given_up',
      error,
    })
  })
})

describe('describeFailure()', () => {
  test('shows the messages of our own error classes only', () => {
    expect(describeFailure(new Unavailable('No answer'))).toBe('No answer')
    expect(describeFailure(new Undeliverable('Gone'))).toBe('Gone')
    for (const error of [new Rejection('malformed', 'x'), new Error('x'), 'x', undefined]) {
      expect(describeFailure(error)).toBe('internal error, see the log')
    }
  })

  test('adds the system’s error code, and no other code', () => {
    const createUnavailable = (code: string) =>
      new Unavailable('No answer', { cause: Object.assign(new Error('x'), { code }) })
    expect(describeFailure(createUnavailable('ECONNREFUSED'))).toBe('No answer: ECONNREFUSED')
    expect(describeFailure(createUnavailable('ENOTFOUND'))).toBe('No answer: ENOTFOUND')
    for (const code of ['EMESSAGE', 'ECONN words of a peer', ''])
      expect(describeFailure(createUnavailable(code))).toBe('No answer')
  })
})

test('defaultRetryPolicy retries for two days, first after a quarter of a minute', () => {
  expect(defaultRetryPolicy).toEqual({ initialDelayMs: 15_000, maxDelayMs: 21_600_000, giveUpAfterMs: 172_800_000 })
})
