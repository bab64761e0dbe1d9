import { setImmediate as soon } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { TurnIsolation } from './turn-isolation.ts'

interface Wait {
  readonly ms: number
  end(): void
}

function openIsolation() {
  const log: string[] = []
  const waits: Wait[] = []
  const waitingTurns = new Set<Turn>()
  const abandonController = new AbortController()
  const clock = { now: 0 }
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => {
      waits.push({ ms, end: resolve })
      signal?.addEventListener('abort', () => resolve())
    })
  const isolation = new TurnIsolation({
    system: { now: () => clock.now, sleep },
    abandonSignal: abandonController.signal,
    isSuspect: ({ crashes }) => crashes === 1,
    isWaiting: each => waitingTurns.has(each),
    noteAlone: async ({ message }) => void log.push(`alone ${message}`),
    onOpen: () => void log.push('open'),
  })
  function run(number: number, crashes = 0) {
    const work = Promise.withResolvers<void>()
    const isolatedTurn = { ...turn(number), crashes }
    const runEnd = isolation.run(isolatedTurn, () => {
      log.push(`run ${number}`)
      return work.promise
    })
    const end = () => {
      work.resolve()
      return runEnd
    }
    return { turn: isolatedTurn, end }
  }
  return { isolation, log, waits, waiting: waitingTurns, abandoned: abandonController, clock, run }
}

describe('a turn whose process has crashed', () => {
  test('starts after the running turns, and other turns start after it', async () => {
    const { isolation, log, run } = openIsolation()
    const [first, suspect] = [run(1), run(2, 1)]
    const third = run(3)
    await soon()
    expect(log).toEqual(['run 1'])
    expect([isolation.isClosed, isolation.isQueued(suspect.turn)]).toEqual([true, true])
    await first.end()
    await soon()
    expect(log).toEqual(['run 1', 'alone 2', 'run 2'])
    expect([isolation.isClosed, isolation.isQueued(suspect.turn)]).toEqual([true, false])
    await suspect.end()
    await soon()
    expect(log).toEqual(['run 1', 'alone 2', 'run 2', 'open', 'run 3'])
    expect(isolation.isClosed).toBe(false)
    await third.end()
  })

  test('runs after another such turn, and other turns may run in between for as long as that turn took', async () => {
    const { log, waits, clock, run } = openIsolation()
    const [one, other] = [run(1, 1), run(2, 1)]
    await soon()
    clock.now = 4_000
    await one.end()
    await soon()
    expect(log).toEqual(['alone 1', 'run 1', 'open'])
    expect(waits.at(-1)?.ms).toBe(4_000)
    waits.at(-1)?.end()
    await soon()
    expect(log).toEqual(['alone 1', 'run 1', 'open', 'alone 2', 'run 2'])
    await other.end()
  })

  test('lets other turns start after ten seconds', async () => {
    const { isolation, log, waits, run } = openIsolation()
    const [longRun, suspect] = [run(1), run(2, 1)]
    await soon()
    expect(waits.map(({ ms }) => ms)).toEqual([10_000])
    waits[0]?.end()
    await soon()
    expect(log).toEqual(['run 1', 'alone 2', 'run 2'])
    expect(waits.map(({ ms }) => ms)).toEqual([10_000, 10_000])
    waits[1]?.end()
    await soon()
    expect(isolation.isClosed).toBe(false)
    await Promise.all([longRun.end(), suspect.end()])
  })

  test('lets other turns start while it waits for another agent', async () => {
    const { isolation, log, waiting, run } = openIsolation()
    const suspect = run(1, 1)
    const otherRun = run(2)
    await soon()
    expect(log).toEqual(['alone 1', 'run 1'])
    waiting.add(suspect.turn)
    isolation.noteChange()
    await soon()
    expect(log).toEqual(['alone 1', 'run 1', 'open', 'run 2'])
    await Promise.all([otherRun.end(), suspect.end()])
  })

  test('fails without a run if its lease is lost, and others continue', async () => {
    const lost = new Error('lost')
    const isolation = new TurnIsolation({
      system: { now: () => 0, sleep: () => new Promise(() => undefined) },
      abandonSignal: new AbortController().signal,
      isSuspect: () => true,
      isWaiting: () => false,
      noteAlone: () => Promise.reject(lost),
      onOpen: () => undefined,
    })
    await expect(isolation.run(turn(1), () => Promise.reject(new Error('ran')))).rejects.toBe(lost)
    expect(isolation.isClosed).toBe(false)
  })
})

test('TurnIsolation starts all turns when the process ends, so that the worker releases them', async () => {
  const { log, abandoned, run } = openIsolation()
  const runs = [run(1), run(2, 1), run(3, 1), run(4)]
  await soon()
  abandoned.abort()
  await soon()
  await soon()
  const startedTurns = log.filter(line => line !== 'open').toSorted()
  await Promise.all(runs.map(({ end }) => end()))
  expect(startedTurns).toEqual(['run 1', 'run 2', 'run 3', 'run 4'])
})
