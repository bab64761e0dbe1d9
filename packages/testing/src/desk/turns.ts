import { LeaseLost } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  admitAll,
  idsOf,
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withDesk,
} from './under-test.ts'

export function turnContract(open: OpenDesk): void {
  describe('turns', () => {
    describeLeases(open)
    describeOrder(open)
    describeFencing(open)
    describeBusyAgents(open)
    describeRelease(open)
    describeStates(open)
  })
}

function describeLeases(open: OpenDesk): void {
  test(
    'a turn carries all a worker needs',
    withDesk(open, async ({ desk }) => {
      const intake = sketchIntake('m1', { flags: ['odd'], message: { in_reply_to: 'm0', kind: 'edit' } })
      const { message } = await desk.admit(intake, 'c1')
      const turn = await leaseOnlyTurn(desk)
      expect(turn).toMatchObject({
        message,
        attempt: 1,
        agent: 'echo',
        via: 'a2a',
        flags: ['odd'],
        correlationId: 'c1',
      })
      expect(turn.target).toEqual({ answerTo: 'm1' })
      expect(turn.content).toEqual({ ...intake.message, raw: { id: 'm1' } })
      expect(turn.task).toBeUndefined()
    }),
  )
  test(
    'turns are leased oldest first, at most as many as asked for, and each to one worker',
    withDesk(open, async ({ desk }) => {
      await admitAll(
        desk,
        ['m1', 'm2', 'm3', 'm4', 'm5'].map(id => sketchIntake(id)),
      )
      expect(idsOf(await leaseTurns(desk, 2))).toEqual(['m1', 'm2'])
      const both = await Promise.all([leaseTurns(desk, 2), leaseTurns(desk, 2)])
      expect(both.flatMap(idsOf)).toEqual(['m3', 'm4', 'm5'])
      expect(await leaseTurns(desk)).toEqual([])
    }),
  )
  test(
    'nextDue() is when the next turn may be taken up',
    withDesk(open, async ({ desk, now, advance }) => {
      expect(await desk.nextDue()).toBeUndefined()
      await admitAll(desk, [sketchIntake('m1', inThread('t')), sketchIntake('m2', inThread('t'))])
      expect(await desk.nextDue()).toBe(now())
      const turn = await leaseOnlyTurn(desk)
      await desk.release(turn, { dueAt: now() + 5_000 })
      expect(await desk.nextDue()).toBe(now() + 5_000)
      expect(await leaseTurns(desk)).toEqual([])
      advance(5_000)
      await desk.commit(await leaseOnlyTurn(desk), sayNothing())
      expect(await desk.nextDue()).toBe(now())
      await desk.commit(await leaseOnlyTurn(desk), sayNothing())
      expect(await desk.nextDue()).toBeUndefined()
    }),
  )
}

function describeOrder(open: OpenDesk): void {
  test(
    'turns of one thread come one after another while other threads go on',
    withDesk(open, async ({ desk, now, advance }) => {
      const one = ['a1', 'a2', 'a3'].map(id => sketchIntake(id, inThread('a')))
      await admitAll(desk, [...one, sketchIntake('b1', inThread('b'))])
      const [a1, b1] = await leaseTurns(desk)
      expect(idsOf([a1, b1].filter(turn => turn !== undefined))).toEqual(['a1', 'b1'])
      if (!a1) return
      await desk.release(a1, { dueAt: now() + 1_000 })
      expect(await leaseTurns(desk)).toEqual([])
      advance(1_000)
      const again = await leaseOnlyTurn(desk)
      expect(again.content.id).toBe('a1')
      await desk.commit(again, sayNothing())
      const next = await leaseOnlyTurn(desk)
      expect(next.content.id).toBe('a2')
      await admitAll(desk, [sketchIntake('a4', inThread('a'))])
      expect(await leaseTurns(desk)).toEqual([])
      await desk.commit(next, sketchAnswer(next, 'done'))
      expect((await leaseOnlyTurn(desk)).content.id).toBe('a3')
    }),
  )
}

function describeFencing(open: OpenDesk): void {
  test(
    'an outlived lease is taken up by another, and its first holder can do nothing any more',
    withDesk(open, async ({ desk, now, advance }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const lost = await leaseOnlyTurn(desk)
      advance(leaseMs - 1)
      expect(await leaseTurns(desk)).toEqual([])
      advance(1)
      const held = await leaseOnlyTurn(desk)
      expect(held).toMatchObject({ message: lost.message, attempt: 2 })
      expect(held.token).not.toBe(lost.token)
      const answer = sketchAnswer(lost, 'too late', ['x'], { state: 1, aliases: ['late alias'] })
      await expect(desk.commit(lost, answer)).rejects.toThrow(LeaseLost)
      await expect(desk.renew(lost, leaseMs)).rejects.toThrow(LeaseLost)
      await expect(desk.release(lost, { dueAt: now() })).rejects.toThrow(LeaseLost)
      expect(await desk.findResponse('answer to m1')).toBeUndefined()
      expect(await desk.listDeliveries({ limit: 9 })).toEqual([])
      expect(await desk.readState('echo', held.thread)).toBeUndefined()
      await desk.commit(held, sketchAnswer(held, 'in time'))
      expect(await desk.findMessage('m1')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'a turn is committed once, however often it is tried',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      const tries = Array.from({ length: 5 }, () => desk.commit(turn, sketchAnswer(turn, 'hello', ['x'])))
      const ends = await Promise.allSettled(tries)
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(LeaseLost)
      expect(await desk.listDeliveries({ limit: 9 })).toHaveLength(1)
    }),
  )
  test(
    'renew() makes a lease last from now',
    withDesk(open, async ({ desk, advance }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      advance(leaseMs - 1)
      await desk.renew(turn, leaseMs)
      advance(leaseMs - 1)
      expect(await leaseTurns(desk)).toEqual([])
      await desk.commit(turn, sayNothing())
    }),
  )
}

function describeBusyAgents(open: OpenDesk): void {
  test(
    'leaseTurns() leaves the turns of busy agents alone and takes those behind them',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const { message } = await desk.admit({ ...sketchIntake('m2'), agent: 'help' }, 'c')
      const request = { holder: 'w', limit: 9, leaseMs }
      const taken = (agents: Record<string, number>) => ({ most: 2, taken: new Map(Object.entries(agents)) })
      expect(await desk.leaseTurns({ ...request, shares: taken({ echo: 2, help: 2 }) })).toEqual([])
      expect(await desk.leaseTurns({ ...request, shares: taken({ echo: 2, help: 1 }) })).toMatchObject([
        { message, agent: 'help' },
      ])
      expect(await desk.leaseTurns(request)).toMatchObject([{ agent: 'echo' }])
    }),
  )
  test(
    'leaseTurns() takes of no agent more than its share, however many are due first',
    withDesk(open, async ({ desk }) => {
      for (const id of ['m1', 'm2', 'm3', 'm4']) await desk.admit(sketchIntake(id), 'c')
      await desk.admit({ ...sketchIntake('m5'), agent: 'help' }, 'c')
      const shares = { most: 2, taken: new Map([['echo', 1]]) }
      const leased = await desk.leaseTurns({ holder: 'w', limit: 3, leaseMs, shares })
      expect(leased.map(({ agent }) => agent)).toEqual(['echo', 'help'])
    }),
  )
}

function describeRelease(open: OpenDesk): void {
  test(
    'a released turn comes again at its time, and an attempt given back by a shutdown does not count',
    withDesk(open, async ({ desk, now }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const first = await leaseOnlyTurn(desk)
      await desk.release(first, { dueAt: now(), error: 'the agent is busy' })
      expect(await desk.findMessage('m1')).toMatchObject({ state: 'received', error: 'the agent is busy' })
      const second = await leaseOnlyTurn(desk)
      expect(second.attempt).toBe(2)
      await desk.release(second, { dueAt: now(), uncounted: true })
      const third = await leaseOnlyTurn(desk)
      expect(third.attempt).toBe(2)
      await expect(desk.commit(second, sayNothing())).rejects.toThrow(LeaseLost)
      await desk.commit(third, sayNothing())
    }),
  )
  test(
    'tries that ended without a word are counted until one is given back in order',
    withDesk(open, async ({ desk, advance, now }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      for (const crashes of [0, 1, 2]) {
        expect(await leaseOnlyTurn(desk)).toMatchObject({ crashes })
        advance(leaseMs)
      }
      await desk.release(await leaseOnlyTurn(desk), { dueAt: now() })
      expect(await leaseOnlyTurn(desk)).toMatchObject({ crashes: 0, attempt: 5 })
    }),
  )
  test(
    'who gave a turn back cannot commit it',
    withDesk(open, async ({ desk, now }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.release(turn, { dueAt: now() })
      await expect(desk.commit(turn, sayNothing())).rejects.toThrow(LeaseLost)
    }),
  )
}

function describeStates(open: OpenDesk): void {
  test(
    'a message is received, working, and then answered, failed or ignored',
    withDesk(open, async ({ desk }) => {
      const stateOf = async (id: string) => (await desk.findMessage(id))?.state
      await admitAll(
        desk,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      expect(await stateOf('m1')).toBe('received')
      const [one, two, three, four] = await leaseTurns(desk)
      if (!one || !two || !three || !four) throw new Error('expected four turns')
      expect(await stateOf('m1')).toBe('working')
      await desk.commit(one, sketchAnswer(one, 'hello'))
      await desk.commit(two, { response: sketchResponse(two, 'sorry', 'failed'), deliveries: [], error: 'it broke' })
      await desk.commit(three, sayNothing())
      await desk.commit(four, { response: sketchResponse(four, 'no', 'rejected'), deliveries: [] })
      expect(await Promise.all(['m1', 'm2', 'm3', 'm4'].map(stateOf))).toEqual([
        'answered',
        'failed',
        'ignored',
        'answered',
      ])
      expect(await desk.findMessage('m2')).toMatchObject({ error: 'it broke', response: { status: 'failed' } })
    }),
  )
  test(
    'the state of an agent is written with its answer, stays when unchanged, and is its own per thread',
    withDesk(open, async ({ desk }) => {
      await admitAll(desk, [sketchIntake('m1', inThread('t')), sketchIntake('m2', inThread('t')), sketchIntake('m3')])
      const [one, other] = await leaseTurns(desk)
      if (!one || !other) throw new Error('expected two turns')
      await desk.commit(one, { deliveries: [], state: { count: 1 } })
      expect(await desk.readState('echo', one.thread)).toEqual({ count: 1 })
      expect(await desk.readState('echo', other.thread)).toBeUndefined()
      expect(await desk.readState('help', one.thread)).toBeUndefined()
      const two = await leaseOnlyTurn(desk)
      await desk.commit(two, sayNothing())
      expect(await desk.readState('echo', one.thread)).toEqual({ count: 1 })
    }),
  )
}
