import { LeaseLost } from '@postern/message'
import { expect, test } from 'vitest'
import type { Turn } from '../../ports/records/work/turn.ts'
import { createLostLeases } from './lost-leases.ts'

const turnOf = (message: number) => ({ message }) as Turn

/** Opens turns whose signals a test can read. They run until `finish` is called. */
function openTurns() {
  const abandon = new AbortController()
  const leases = createLostLeases(abandon.signal)
  return {
    abandon,
    leases,
    run(turn: Turn) {
      const { promise, resolve } = Promise.withResolvers<void>()
      let signal: AbortSignal | undefined
      const ended = leases.run(turn, turnSignal => {
        signal = turnSignal
        return promise
      })
      const reasonOf = () => (signal?.aborted ? signal.reason : undefined)
      const finish = () => {
        resolve()
        return ended
      }
      return { reasonOf, finish }
    },
  }
}

test('createLostLeases() aborts the signal of one turn when its lease is lost', async () => {
  const { leases, run } = openTurns()
  const [turn, otherTurn] = [turnOf(1), turnOf(2)]
  const [lost, other] = [run(turn), run(otherTurn)]
  leases.end(turn)
  expect(lost.reasonOf()).toBeInstanceOf(LeaseLost)
  expect(other.reasonOf()).toBeUndefined()
  await Promise.all([lost.finish(), other.finish()])
})

test('createLostLeases() aborts the signals of all running and later turns when the worker abandons them, but of no ended turn', async () => {
  const { abandon, run } = openTurns()
  const ended = run(turnOf(1))
  await ended.finish()
  const running = run(turnOf(2))
  abandon.abort('over')
  const later = run(turnOf(3))
  expect([ended.reasonOf(), running.reasonOf(), later.reasonOf()]).toEqual([undefined, 'over', 'over'])
  await Promise.all([running.finish(), later.finish()])
})
