import { noLog, Rejection, Unavailable, Undeliverable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'

import type { Admission, Breaker } from './breaker.ts'
import { createBreaker, readHealth } from './breaker.ts'
import type { AttemptHealth, BreakerPolicy } from './host-health.ts'
import { defaultBreakerPolicy, findBreakerPolicy } from './host-health.ts'

// Numbers are rows of the ActivityPub bug history.

const minute = 60_000
const hour = 60 * minute
const dead = 'dead.test'
const lives: AttemptHealth = { health: 'healthy' }
const failing: AttemptHealth = { health: 'failing' }

interface OpenBreaker {
  readonly breaker: Breaker
  readonly logged: readonly unknown[]
  advance(ms: number): void
  now(): number
}

function openBreaker(policy: Partial<BreakerPolicy> = {}): OpenBreaker {
  let now = 1_000_000
  const logged: unknown[] = []
  const keep = (fields: unknown, text: string) => void logged.push([text, fields])
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve()))
  const breaker = createBreaker({ now: () => now, sleep, log: { ...noLog, info: keep, warn: keep } }, () => ({
    ...defaultBreakerPolicy,
    ...policy,
  }))
  return {
    breaker,
    logged,
    now: () => now,
    advance(ms) {
      now += ms
    },
  }
}

type Going = Extract<Admission, { waitUntil?: undefined }>

async function go({ breaker }: OpenBreaker, host = dead): Promise<Going> {
  const admission = await breaker.admit(host)
  if (admission.waitUntil !== undefined) throw new Error(`${host} has to wait: ${admission.reason}`)
  return admission
}

async function tryHost(open: OpenBreaker, tried: AttemptHealth, host = dead): Promise<void> {
  const { report } = await go(open, host)
  report(tried)
}

async function failTimes(open: OpenBreaker, times: number, host = dead): Promise<void> {
  for (let count = 0; count < times; count += 1) await tryHost(open, failing, host)
}

/** Returns the time for which a delivery to the host must wait, ms; undefined if it may go. Its health is then reported as unknown. */
async function waitOf({ breaker, now }: OpenBreaker, host = dead): Promise<number | undefined> {
  const admission = await breaker.admit(host)
  if (admission.waitUntil !== undefined) return admission.waitUntil - now()
  admission.report({ health: 'unknown' })
  return undefined
}

test('a breaker retries the mail server after a minute, because all mail waits for it', () => {
  expect(findBreakerPolicy('mail server')).toMatchObject({ openMs: 60_000, capMs: 600_000 })
  expect(findBreakerPolicy('peer.test')).toEqual(defaultBreakerPolicy)
})

describe('createBreaker()', () => {
  test('pauses a host for half an hour after five failures in a row', async () => {
    const open = openBreaker()
    await failTimes(open, 4)
    expect(await waitOf(open)).toBeUndefined()
    await failTimes(open, 1)
    expect(await waitOf(open)).toBe(30 * minute)
    expect(await open.breaker.admit(dead)).toMatchObject({
      reason: 'host_left_alone',
      sentence: 'its host does not answer and is left alone for a while',
    })
  })

  test('does not affect other hosts, or other ports of this one', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    expect(await waitOf(open, 'other.test')).toBeUndefined()
    expect(await waitOf(open, `${dead}:8443`)).toBeUndefined()
  })

  test('resets the failures of a host that answers in between', async () => {
    const open = openBreaker()
    await failTimes(open, 4)
    await tryHost(open, lives)
    await failTimes(open, 4)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('counts only failures within ten minutes', async () => {
    const open = openBreaker()
    await failTimes(open, 1)
    open.advance(10 * minute)
    await failTimes(open, 4)
    expect(await waitOf(open)).toBeUndefined()
    await failTimes(open, 1)
    expect(await waitOf(open)).toBe(30 * minute)
  })

  test('does not count an internal error as success or failure', async () => {
    const open = openBreaker()
    await failTimes(open, 4)
    await tryHost(open, { health: 'unknown' })
    await failTimes(open, 1)
    expect(await waitOf(open)).toBe(30 * minute)
  })

  test('lets exactly one try through after the pause, and the others learn from it', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    const probe = await go(open)
    const ended: Admission[] = []
    const admissions = [1, 2, 3].map(async () => void ended.push(await open.breaker.admit(dead)))
    await new Promise(setImmediate)
    expect(ended).toEqual([])
    probe.report(failing)
    await Promise.all(admissions)
    expect(ended.map(({ waitUntil }) => (waitUntil ?? 0) - open.now())).toEqual([hour, hour, hour])
  })

  test('sends waiting deliveries at once after a successful try', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    const probe = await go(open)
    const admissions = [go(open), go(open)]
    probe.report(lives)
    expect(await Promise.all(admissions)).toHaveLength(2)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('doubles the pause after each failed try up to six hours, and starts again after a success', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    const waits: number[] = []
    for (let count = 0; count < 6; count += 1) {
      const wait = (await waitOf(open)) ?? 0
      waits.push(wait / hour)
      open.advance(wait)
      await failTimes(open, 1)
    }
    expect(waits).toEqual([0.5, 1, 2, 4, 6, 6])
    open.advance(6 * hour)
    await tryHost(open, lives)
    await failTimes(open, 5)
    expect(await waitOf(open)).toBe(30 * minute)
  })

  test('allows another try after one without a result about the host', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    await tryHost(open, { health: 'unknown' })
    await tryHost(open, lives)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('allows another try after a minute if one never returns', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    await go(open)
    open.advance(minute)
    await tryHost(open, lives)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('sends few deliveries at once to a failed host until its state is clear', async () => {
    const open = openBreaker()
    const [first, ...burst] = await Promise.all([1, 2, 3, 4].map(() => go(open)))
    first?.report(failing)
    const fifth = await go(open)
    const sixth = vi.fn()
    const waiting = open.breaker.admit(dead).then(sixth)
    for (const { report } of burst) report(failing)
    await new Promise(setImmediate)
    expect(sixth).not.toHaveBeenCalled()
    fifth.report(failing)
    await waiting
    expect(sixth).toHaveBeenCalledWith(expect.objectContaining({ waitUntil: open.now() + 30 * minute }))
  })

  test('does not prolong the pause for work that ends after it opened', async () => {
    const open = openBreaker()
    const burst = await Promise.all(Array.from({ length: 8 }, () => go(open)))
    for (const { report } of burst) report(failing)
    expect(await waitOf(open)).toBe(30 * minute)
    expect(open.logged).toHaveLength(1)
  })

  test.each([
    ['what it names', 120_000, 120_000],
    ['a second at least', 0, 1_000],
    ['six hours at most', 7 * 24 * hour, 6 * hour],
  ])('gives a host that asks to wait %s, without counting a failure', async (_, retryAfterMs, wait) => {
    const open = openBreaker()
    await failTimes(open, 4)
    await tryHost(open, { health: 'healthy', retryAfterMs })
    expect(await waitOf(open)).toBe(wait)
    expect(await open.breaker.admit(dead)).toMatchObject({ sentence: 'its host asked for time' })
    open.advance(wait)
    await failTimes(open, 4)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('pauses a failing host that also asks to wait for the longer of both times', async () => {
    const open = openBreaker()
    await failTimes(open, 4)
    await tryHost(open, { health: 'failing', retryAfterMs: 2 * hour })
    expect(await waitOf(open)).toBe(2 * hour)
  })

  test('remembers a bounded number of hosts, and drops the least recently used first (AP-42)', async () => {
    const open = openBreaker({ maxHosts: 100 })
    for (let count = 0; count < 300; count += 1) await failTimes(open, 5, `${count}.wild.test`)
    expect(await waitOf(open, '199.wild.test')).toBeUndefined()
    expect(await waitOf(open, '200.wild.test')).toBe(30 * minute)
    expect(await waitOf(open, '299.wild.test')).toBe(30 * minute)
  })

  test('drops a host after a day without deliveries (AP-42)', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    await failTimes(open, 1)
    open.advance(24 * hour)
    await failTimes(open, 4)
    expect(await waitOf(open)).toBeUndefined()
  })

  test('does not pause a host for longer if the clock goes back a day', async () => {
    const open = openBreaker()
    open.advance(48 * hour)
    for (let at = 0; at < 5; at += 1) (await go(open)).report(failing)
    ;(await go(open, 'busy.test')).report({ health: 'healthy', retryAfterMs: hour })
    expect(open.breaker.listLeftAlone()).toHaveLength(2)
    open.advance(-24 * hour)
    expect(open.breaker.listLeftAlone()).toEqual([])
    ;(await go(open)).report(lives)
    ;(await go(open, 'busy.test')).report(lives)
    expect(open.logged.at(-1)).toEqual(['host answers again', { host: dead }])
  })

  test('tells the operator when it opens for a host, until when, and when the host is back', async () => {
    const open = openBreaker()
    await failTimes(open, 5)
    open.advance(30 * minute)
    await tryHost(open, lives)
    await tryHost(open, { health: 'healthy', retryAfterMs: 5_000 })
    expect(open.logged).toEqual([
      [
        'host left alone: it does not answer',
        { host: dead, failures: 5, opened: 1, until: new Date(1_000_000 + 30 * minute).toISOString() },
      ],
      ['host answers again', { host: dead }],
      ['host left alone: it asked for time', { host: dead, until: new Date(open.now() + 5_000).toISOString() }],
    ])
  })
})

describe('readHealth()', () => {
  test.each<[string, unknown, AttemptHealth]>([
    ['success', undefined, lives],
    ['no answer', new Unavailable('Cannot fetch: no answer in time'), failing],
    ['500', new Unavailable('x', { status: 500 }), failing],
    [
      '503 with a Retry-After',
      new Unavailable('x', { status: 503, retryAfter: 9 }),
      { health: 'failing', retryAfterMs: 9_000 },
    ],
    ['429', new Unavailable('x', { status: 429 }), lives],
    [
      '429 with a Retry-After',
      new Unavailable('x', { status: 429, retryAfter: 9 }),
      { health: 'healthy', retryAfterMs: 9_000 },
    ],
    ['401 that may change', new Unavailable('x', { status: 401 }), lives],
    [
      '503 of an address a stranger named',
      new Unavailable('x', { status: 503, isHearsay: true }),
      { health: 'unknown' },
    ],
    ['410', new Undeliverable('x', { status: 410 }), lives],
    ['501', new Undeliverable('x', { status: 501 }), lives],
    ['an address we must not talk to', new Undeliverable('Cannot fetch: address is not public'), { health: 'unknown' }],
    ['a bug of ours', new TypeError('x'), { health: 'unknown' }],
    ['a refusal of ours', new Rejection('malformed', 'x'), { health: 'unknown' }],
  ])('reads %s', (_, error, tried) => {
    expect(readHealth(error)).toEqual({ retryAfterMs: undefined, ...tried })
  })
})
