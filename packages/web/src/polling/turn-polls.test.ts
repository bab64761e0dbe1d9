import { expect, test } from 'vitest'
import { createTurnPolls } from './turn-polls.ts'

/** Opens polls whose time passes by ticks. */
function openPolls() {
  const shutdown = new AbortController()
  const sleeps: { readonly ms: number; wake(): void }[] = []
  const sleep = (ms: number) => new Promise<void>(resolve => sleeps.push({ ms, wake: resolve }))
  return {
    polls: createTurnPolls({ sleep }, shutdown.signal),
    sleeps,
    shutdown,
    async passTime(ms: number) {
      for (let passed = 0; passed < ms; ) {
        const { ms: slept = ms, wake } = sleeps.shift() ?? {}
        passed += slept
        wake?.()
        await new Promise(resolve => setImmediate(resolve))
      }
    },
  }
}

test('createTurnPolls() polls each turn after a second and then every five seconds, by one timer', async () => {
  const { polls, sleeps, passTime } = openPolls()
  const polled = { first: 0, second: 0 }
  polls.add(() => (polled.first += 1))
  const stop = polls.add(() => (polled.second += 1))
  expect(sleeps).toHaveLength(1)
  await passTime(1_000)
  expect(polled).toEqual({ first: 1, second: 1 })
  stop()
  await passTime(4_750)
  expect(polled).toEqual({ first: 1, second: 1 })
  await passTime(250)
  expect(polled).toEqual({ first: 2, second: 1 })
})

test('createTurnPolls() keeps no timer without turns, and polls a turn that comes later', async () => {
  const { polls, sleeps, passTime } = openPolls()
  polls.add(() => undefined)()
  await passTime(250)
  expect(sleeps).toHaveLength(0)
  let count = 0
  polls.add(() => (count += 1))
  await passTime(1_000)
  expect(count).toBe(1)
})

test('createTurnPolls() polls no turn after the shutdown', async () => {
  const { polls, sleeps, shutdown, passTime } = openPolls()
  let count = 0
  polls.add(() => (count += 1))
  shutdown.abort()
  await passTime(250)
  expect(sleeps).toHaveLength(0)
  expect(count).toBe(0)
})
