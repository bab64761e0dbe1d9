import { Rejection } from '@postern/message'
import { expect, test } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

const limited = (retryAfter: number) =>
  new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter })

function openLimit(options: Parameters<typeof createRateLimit>[0]) {
  const clock = { ms: 0 }
  const limit = createRateLimit(options, () => clock.ms)
  const takeMany = (key: string, count: number) => {
    for (let taken = 0; taken < count; taken += 1) limit.take(key)
  }
  return { clock, limit, takeMany }
}

test('take() allows a burst and then refuses, with the time until the next token', () => {
  const { limit, takeMany } = openLimit({ perMinute: 6, burst: 3 })
  takeMany('a', 3)
  expect(() => limit.take('a')).toThrow(limited(10))
})

test('take() refills with time, not beyond the burst', () => {
  const { clock, limit, takeMany } = openLimit({ perMinute: 6, burst: 3 })
  takeMany('a', 3)
  clock.ms = 9_999
  expect(() => limit.take('a')).toThrow(limited(1))
  clock.ms = 10_000
  limit.take('a')
  expect(() => limit.take('a')).toThrow(limited(10))
  clock.ms = 10_000_000
  takeMany('a', 3)
  expect(() => limit.take('a')).toThrow(limited(10))
})

test('a refusal costs nothing: a caller that goes on asking still gets the next token', () => {
  const { clock, limit, takeMany } = openLimit({ perMinute: 60, burst: 1 })
  takeMany('a', 1)
  for (clock.ms = 100; clock.ms < 1_000; clock.ms += 100) expect(() => limit.take('a')).toThrow(limited(1))
  limit.take('a')
})

test('the burst is a minute of requests by default', () => {
  const { limit, takeMany } = openLimit({ perMinute: 30 })
  takeMany('a', 30)
  expect(() => limit.take('a')).toThrow(limited(2))
})

test('keys do not share', () => {
  const { limit, takeMany } = openLimit({ perMinute: 1 })
  takeMany('a', 1)
  limit.take('b')
  expect(() => limit.take('a')).toThrow(limited(60))
})

test('a clock that is set back locks no key out', () => {
  const { clock, limit, takeMany } = openLimit({ perMinute: 60, burst: 2 })
  clock.ms = 3_600_000
  takeMany('a', 2)
  clock.ms = 0
  takeMany('a', 2)
  expect(() => limit.take('a')).toThrow(limited(1))
})

test('the limiter forgets keys after a long time without use, and keeps keys in use', () => {
  const { limit, takeMany } = openLimit({ perMinute: 1, maxKeys: 10 })
  takeMany('quiet', 1)
  takeMany('busy', 1)
  for (let other = 0; other < 100; other += 1) {
    limit.take(`other ${other}`)
    expect(() => limit.take('busy')).toThrow(limited(60))
  }
  limit.take('quiet')
})

test.each([0, -1, Number.NaN])('createRateLimit() refuses %d per minute', perMinute => {
  expect(() => createRateLimit({ perMinute }, () => 0)).toThrow(new RangeError('perMinute must be above 0'))
})
