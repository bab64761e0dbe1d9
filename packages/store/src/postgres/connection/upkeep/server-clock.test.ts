import { expect, test } from 'vitest'
import { createServerClock } from './server-clock.ts'

const startedAt = Date.UTC(2026, 5, 1)

/** Creates the clock of a machine, and a server whose clock a test sets. Both advance by `pass`, and only the server while the machine sleeps. */
function follow() {
  let [passed, wall, server] = [0, startedAt + 7_000, startedAt]
  const clocks = { monotonicMs: () => passed, wallMs: () => wall }
  const clock = createServerClock({ at: server, sentAt: 0, receivedAt: 0, wallAt: wall }, clocks)
  const setWall = (ms: number) => (wall += ms)
  const set = (ms: number) => (server += ms)
  return {
    ...{ clock, set, setWall },
    sleep(ms: number) {
      set(ms)
      setWall(ms)
    },
    pass(ms: number) {
      passed += ms
      set(ms)
      setWall(ms)
    },
    read: (waitMs = 0) => clock.note({ at: server, sentAt: passed - waitMs, receivedAt: passed, wallAt: wall }),
    late: () => server - clock.now(),
  }
}

test('a clock that follows a server advances between two readings', () => {
  const { clock, pass } = follow()
  pass(1_500)
  expect(clock.now()).toBe(startedAt + 1_500)
})

test('a delayed response moves the clock no further than necessary', () => {
  const { pass, read, late } = follow()
  pass(10_000)
  read(9_000)
  expect(late()).toBe(0)
})

test.each([61_000, -61_000])(
  'the clock approaches a server that jumps by %d ms by at most a second per reading',
  ms => {
    const { set, read, late, pass } = follow()
    set(ms)
    read()
    expect(Math.abs(late())).toBe(60_000)
    for (let count = 0; count < 60; count += 1) {
      pass(2_000)
      read()
    }
    expect(late()).toBe(0)
  },
)

test.each([200_000, 8 * 3_600_000])('the clock is correct immediately after the machine slept for %d ms', ms => {
  const { clock, sleep, pass, read, late } = follow()
  pass(2_000)
  read()
  sleep(ms)
  expect(clock.behindMs(), 'before it has asked the server').toBe(ms)
  read()
  expect([late(), clock.behindMs(), clock.settlingMs()]).toEqual([0, 0, 10_000])
  pass(10_000)
  expect(clock.settlingMs()).toBe(0)
})

test('one reading corrects a clock that is far off at the start', () => {
  const { set, read, late } = follow()
  set(8 * 3_600_000)
  read()
  expect(late()).toBe(0)
})

test('a server that jumps forward by 200 seconds moves the clock by one second per reading', () => {
  const { clock, set, read, late } = follow()
  set(200_000)
  read()
  expect([late(), clock.behindMs(), clock.settlingMs()]).toEqual([199_000, 199_000, 0])
})

test('a late pause ends for the clock when somebody sets the machine’s clock', () => {
  const { set, setWall, pass, read, late } = follow()
  set(200_000)
  for (let count = 0; count < 20; count += 1) {
    read()
    pass(2_000)
  }
  expect(late()).toBe(180_000)
  setWall(200_000)
  read()
  expect(late()).toBe(0)
})

test('the clock moves back slowly, even if the machine’s clock jumps back', () => {
  const { sleep, read, late } = follow()
  sleep(-200_000)
  read()
  expect(late()).toBe(-199_000)
})
