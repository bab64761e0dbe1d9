import { Rejection } from '@postern/message'
import { expect, test } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

const limited = (retryAfter: number) =>
  new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter })

function openLimit(options: Parameters<typeof createRateLimit>[0]) {
  const clock = { ms: 0 }
  const limit = createRateLimit(options, () => clock.ms)
  const consumeMany = (key: string, count: number) => {
    for (let index = 0; index < count; index += 1) limit.consume(key)
  }
  return { clock, limit, takeMany: consumeMany }
}

test('consume() allows a burst, and then refuses with the time until the next token', () => {
  const { limit, takeMany: consumeMany } = openLimit({ perMinute: 6, burst: 3 })
  consumeMany('a', 3)
  expect(() => limit.consume('a')).toThrow(limited(10))
})

test('consume() refills tokens with time, but not beyond the burst', () => {
  const { clock, limit, takeMany: consumeMany } = openLimit({ perMinute: 6, burst: 3 })
  consumeMany('a', 3)
  clock.ms = 9_999
  expect(() => limit.consume('a')).toThrow(limited(1))
  clock.ms = 10_000
  limit.consume('a')
  expect(() => limit.consume('a')).toThrow(limited(10))
  clock.ms = 10_000_000
  consumeMany('a', 3)
  expect(() => limit.consume('a')).toThrow(limited(10))
})

test('a refusal uses no token, so a persistent caller still gets the next one', () => {
  const { clock, limit, takeMany: consumeMany } = openLimit({ perMinute: 60, burst: 1 })
  consumeMany('a', 1)
  for (clock.ms = 100; clock.ms < 1_000; clock.ms += 100) expect(() => limit.consume('a')).toThrow(limited(1))
  limit.consume('a')
})

test('the default burst is one minute of requests', () => {
  const { limit, takeMany: consumeMany } = openLimit({ perMinute: 30 })
  consumeMany('a', 30)
  expect(() => limit.consume('a')).toThrow(limited(2))
})

test('keys have separate limits', () => {
  const { limit, takeMany: consumeMany } = openLimit({ perMinute: 1 })
  consumeMany('a', 1)
  limit.consume('b')
  expect(() => limit.consume('a')).toThrow(limited(60))
})

test('a clock that goes back locks out no key', () => {
  const { clock, limit, takeMany: consumeMany } = openLimit({ perMinute: 60, burst: 2 })
  clock.ms = 3_600_000
  consumeMany('a', 2)
  clock.ms = 0
  consumeMany('a', 2)
  expect(() => limit.consume('a')).toThrow(limited(1))
})

test('the limiter drops keys after a long time without use', () => {
  const { limit, takeMany: consumeMany } = openLimit({ perMinute: 1, maxKeys: 10 })
  consumeMany('quiet', 1)
  consumeMany('busy', 1)
  for (let index = 0; index < 100; index += 1) {
    limit.consume(`other ${index}`)
    expect(() => limit.consume('busy')).toThrow(limited(60))
  }
  limit.consume('quiet')
})

test.each([0, -1, Number.NaN])('createRateLimit() refuses %d per minute', perMinute => {
  expect(() => createRateLimit({ perMinute }, () => 0)).toThrow(new RangeError('perMinute must be above 0'))
})
