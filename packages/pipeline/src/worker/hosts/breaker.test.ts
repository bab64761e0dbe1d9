import { noLog, Rejection, Unavailable, Undeliverable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'

import type { Admission, Breaker } from './breaker.ts'
import { createBreaker, readHealth } from './breaker.ts'
import type { AttemptHealth, BreakerPolicy } from './host-health.ts'
import { defaultBreakerPolicy, findBreakerPolicy } from './host-health.ts'

// Ids such as AP-42 name rows of the ActivityPub bug history.

const minute = 60_000
const hour = 60 * minute
const deadHost = 'dead.test'
const healthyAttempt: AttemptHealth = { health: 'healthy' }
const failedAttempt: AttemptHealth = { health: 'failing' }

interface BreakerBench {
  readonly breaker: Breaker
  readonly logEntries: readonly unknown[]
  advance(ms: number): void
  now(): number
}

function openBreaker(policy: Partial<BreakerPolicy> = {}): BreakerBench {
  let now = 1_000_000
  const logEntries: unknown[] = []
  const recordEntry = (fields: unknown, text: string) => void logEntries.push([text, fields])
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve()))
  const breaker = createBreaker(
    { now: () => now, sleep, log: { ...noLog, info: recordEntry, warn: recordEntry } },
    () => ({
      ...defaultBreakerPolicy,
      ...policy,
    }),
  )
  return {
    breaker,
    logEntries,
    now: () => now,
    advance(ms) {
      now += ms
    },
  }
}

type AdmittedAttempt = Extract<Admission, { waitUntil?: undefined }>

async function admitAttempt({ breaker }: BreakerBench, host = deadHost): Promise<AdmittedAttempt> {
  const admission = await breaker.admit(host)
  if (admission.waitUntil !== undefined) throw new Error(`${host} has to wait: ${admission.reason}`)
  return admission
}

async function reportAttempt(bench: BreakerBench, attemptHealth: AttemptHealth, host = deadHost): Promise<void> {
  const { report } = await admitAttempt(bench, host)
  report(attemptHealth)
}

async function failAttempts(bench: BreakerBench, times: number, host = deadHost): Promise<void> {
  for (let count = 0; count < times; count += 1) await reportAttempt(bench, failedAttempt, host)
}

/** Returns the time for which a delivery to the host must wait, in ms. Returns undefined for an admitted attempt, and reports its health as unknown. */
async function readWaitMs({ breaker, now }: BreakerBench, host = deadHost): Promise<number | undefined> {
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
    await failAttempts(open, 4)
    expect(await readWaitMs(open)).toBeUndefined()
    await failAttempts(open, 1)
    expect(await readWaitMs(open)).toBe(30 * minute)
    expect(await open.breaker.admit(deadHost)).toMatchObject({
      reason: 'host_left_alone',
      sentence: 'its host does not answer and is left alone for a while',
    })
  })

  test('does not affect other hosts, or other ports of this one', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    expect(await readWaitMs(open, 'other.test')).toBeUndefined()
    expect(await readWaitMs(open, `${deadHost}:8443`)).toBeUndefined()
  })

  test('resets the failures of a host that answers in between', async () => {
    const open = openBreaker()
    await failAttempts(open, 4)
    await reportAttempt(open, healthyAttempt)
    await failAttempts(open, 4)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('counts only failures within ten minutes', async () => {
    const open = openBreaker()
    await failAttempts(open, 1)
    open.advance(10 * minute)
    await failAttempts(open, 4)
    expect(await readWaitMs(open)).toBeUndefined()
    await failAttempts(open, 1)
    expect(await readWaitMs(open)).toBe(30 * minute)
  })

  test('does not count an internal error as success or failure', async () => {
    const open = openBreaker()
    await failAttempts(open, 4)
    await reportAttempt(open, { health: 'unknown' })
    await failAttempts(open, 1)
    expect(await readWaitMs(open)).toBe(30 * minute)
  })

  test('admits exactly one attempt after the pause, and the others wait for its outcome', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    const probe = await admitAttempt(open)
    const laterAdmissions: Admission[] = []
    const admissions = [1, 2, 3].map(async () => void laterAdmissions.push(await open.breaker.admit(deadHost)))
    await new Promise(setImmediate)
    expect(laterAdmissions).toEqual([])
    probe.report(failedAttempt)
    await Promise.all(admissions)
    expect(laterAdmissions.map(({ waitUntil }) => (waitUntil ?? 0) - open.now())).toEqual([hour, hour, hour])
  })

  test('admits waiting deliveries at once after a successful attempt', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    const probe = await admitAttempt(open)
    const admissions = [admitAttempt(open), admitAttempt(open)]
    probe.report(healthyAttempt)
    expect(await Promise.all(admissions)).toHaveLength(2)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('doubles the pause after each failed attempt up to six hours, and starts again after a success', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    const waits: number[] = []
    for (let count = 0; count < 6; count += 1) {
      const wait = (await readWaitMs(open)) ?? 0
      waits.push(wait / hour)
      open.advance(wait)
      await failAttempts(open, 1)
    }
    expect(waits).toEqual([0.5, 1, 2, 4, 6, 6])
    open.advance(6 * hour)
    await reportAttempt(open, healthyAttempt)
    await failAttempts(open, 5)
    expect(await readWaitMs(open)).toBe(30 * minute)
  })

  test('admits another attempt after one that says nothing about the host', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    await reportAttempt(open, { health: 'unknown' })
    await reportAttempt(open, healthyAttempt)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('admits another attempt after a minute if one never ends', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    await admitAttempt(open)
    open.advance(minute)
    await reportAttempt(open, healthyAttempt)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('admits few concurrent attempts to a host that has failed', async () => {
    const open = openBreaker()
    const [firstAttempt, ...laterAttempts] = await Promise.all([1, 2, 3, 4].map(() => admitAttempt(open)))
    firstAttempt?.report(failedAttempt)
    const fifthAttempt = await admitAttempt(open)
    const onSixthAdmission = vi.fn()
    const sixthAdmission = open.breaker.admit(deadHost).then(onSixthAdmission)
    for (const { report } of laterAttempts) report(failedAttempt)
    await new Promise(setImmediate)
    expect(onSixthAdmission).not.toHaveBeenCalled()
    fifthAttempt.report(failedAttempt)
    await sixthAdmission
    expect(onSixthAdmission).toHaveBeenCalledWith(expect.objectContaining({ waitUntil: open.now() + 30 * minute }))
  })

  test('does not prolong the pause for work that ends after it opened', async () => {
    const open = openBreaker()
    const burst = await Promise.all(Array.from({ length: 8 }, () => admitAttempt(open)))
    for (const { report } of burst) report(failedAttempt)
    expect(await readWaitMs(open)).toBe(30 * minute)
    expect(open.logEntries).toHaveLength(1)
  })

  test.each([
    ['the named time', 120_000, 120_000],
    ['a second at least', 0, 1_000],
    ['six hours at most', 7 * 24 * hour, 6 * hour],
  ])('gives a host that asks to wait %s, without counting a failure', async (_, retryAfterMs, wait) => {
    const open = openBreaker()
    await failAttempts(open, 4)
    await reportAttempt(open, { health: 'healthy', retryAfterMs })
    expect(await readWaitMs(open)).toBe(wait)
    expect(await open.breaker.admit(deadHost)).toMatchObject({ sentence: 'its host asked for time' })
    open.advance(wait)
    await failAttempts(open, 4)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('pauses a failing host that also asks to wait for the longer of both times', async () => {
    const open = openBreaker()
    await failAttempts(open, 4)
    await reportAttempt(open, { health: 'failing', retryAfterMs: 2 * hour })
    expect(await readWaitMs(open)).toBe(2 * hour)
  })

  test('remembers a bounded number of hosts, and drops the least recently used first (AP-42)', async () => {
    const open = openBreaker({ maxHosts: 100 })
    for (let count = 0; count < 300; count += 1) await failAttempts(open, 5, `${count}.wild.test`)
    expect(await readWaitMs(open, '199.wild.test')).toBeUndefined()
    expect(await readWaitMs(open, '200.wild.test')).toBe(30 * minute)
    expect(await readWaitMs(open, '299.wild.test')).toBe(30 * minute)
  })

  test('drops a host after a day without deliveries (AP-42)', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    await failAttempts(open, 1)
    open.advance(24 * hour)
    await failAttempts(open, 4)
    expect(await readWaitMs(open)).toBeUndefined()
  })

  test('does not pause a host for longer if the clock goes back a day', async () => {
    const open = openBreaker()
    open.advance(48 * hour)
    for (let at = 0; at < 5; at += 1) (await admitAttempt(open)).report(failedAttempt)
    ;(await admitAttempt(open, 'busy.test')).report({ health: 'healthy', retryAfterMs: hour })
    expect(open.breaker.listPausedHosts()).toHaveLength(2)
    open.advance(-24 * hour)
    expect(open.breaker.listPausedHosts()).toEqual([])
    ;(await admitAttempt(open)).report(healthyAttempt)
    ;(await admitAttempt(open, 'busy.test')).report(healthyAttempt)
    expect(open.logEntries.at(-1)).toEqual(['host answers again', { host: deadHost }])
  })

  test('tells the operator when it opens for a host, until when, and when the host is back', async () => {
    const open = openBreaker()
    await failAttempts(open, 5)
    open.advance(30 * minute)
    await reportAttempt(open, healthyAttempt)
    await reportAttempt(open, { health: 'healthy', retryAfterMs: 5_000 })
    expect(open.logEntries).toEqual([
      [
        'host left alone: it does not answer',
        { host: deadHost, failures: 5, opened: 1, until: new Date(1_000_000 + 30 * minute).toISOString() },
      ],
      ['host answers again', { host: deadHost }],
      ['host left alone: it asked for time', { host: deadHost, until: new Date(open.now() + 5_000).toISOString() }],
    ])
  })
})

describe('readHealth()', () => {
  test.each<[string, unknown, AttemptHealth]>([
    ['success', undefined, healthyAttempt],
    ['no answer', new Unavailable('Cannot fetch: no answer in time'), failedAttempt],
    ['500', new Unavailable('x', { status: 500 }), failedAttempt],
    [
      '503 with a Retry-After',
      new Unavailable('x', { status: 503, retryAfter: 9 }),
      { health: 'failing', retryAfterMs: 9_000 },
    ],
    ['429', new Unavailable('x', { status: 429 }), healthyAttempt],
    [
      '429 with a Retry-After',
      new Unavailable('x', { status: 429, retryAfter: 9 }),
      { health: 'healthy', retryAfterMs: 9_000 },
    ],
    ['401 that may change', new Unavailable('x', { status: 401 }), healthyAttempt],
    [
      '503 of an address that a stranger named',
      new Unavailable('x', { status: 503, isHearsay: true }),
      { health: 'unknown' },
    ],
    ['410', new Undeliverable('x', { status: 410 }), healthyAttempt],
    ['501', new Undeliverable('x', { status: 501 }), healthyAttempt],
    ['a private address', new Undeliverable('Cannot fetch: address is not public'), { health: 'unknown' }],
    ['a bug of the gateway', new TypeError('x'), { health: 'unknown' }],
    ['a rejection by the gateway', new Rejection('malformed', 'x'), { health: 'unknown' }],
  ])('reads %s', (_, error, tried) => {
    expect(readHealth(error)).toEqual({ retryAfterMs: undefined, ...tried })
  })
})
