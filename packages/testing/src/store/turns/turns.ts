// Tests how a store leases, orders, fences and releases turns.
import { LeaseLost } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  messageIdsOf,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function turnContract(openStore: OpenStore): void {
  describe('turns', () => {
    describeLeases(openStore)
    describeOrder(openStore)
    describeFencing(openStore)
    describeBusyAgents(openStore)
    describeRelease(openStore)
    describeStates(openStore)
  })
}

function describeLeases(openStore: OpenStore): void {
  test(
    'a leased turn has all data that a worker needs',
    withStore(openStore, async ({ store }) => {
      const intake = sketchIntake('m1', { flags: ['odd'], message: { in_reply_to: 'm0', kind: 'edit' } })
      const { message } = await store.admit(intake, 'c1')
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({
        message,
        attempt: 1,
        agent: 'echo',
        via: 'a2a',
        flags: ['odd'],
        correlationId: 'c1',
      })
      expect(turn.target).toEqual({ answerTo: 'm1' })
      expect(turn.content).toEqual({ ...intake.message, thread_id: expect.any(String), raw: { id: 'm1' } })
      expect(turn.task).toBeUndefined()
    }),
  )
  test(
    'workers lease turns oldest first, at most the requested number, each once',
    withStore(openStore, async ({ store }) => {
      await admitAll(
        store,
        ['m1', 'm2', 'm3', 'm4', 'm5'].map(id => sketchIntake(id)),
      )
      expect(messageIdsOf(await leaseTurns(store, 2))).toEqual(['m1', 'm2'])
      const bothLeases = await Promise.all([leaseTurns(store, 2), leaseTurns(store, 2)])
      expect(bothLeases.flatMap(messageIdsOf)).toEqual(['m3', 'm4', 'm5'])
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'findNextDueAt() returns the time at which the next turn is ready',
    withStore(openStore, async ({ store, now, advance }) => {
      expect(await store.findNextDueAt()).toBeUndefined()
      await admitAll(store, [sketchIntake('m1', inThread('t')), sketchIntake('m2', inThread('t'))])
      expect(await store.findNextDueAt()).toBe(now())
      const turn = await leaseOnlyTurn(store)
      await store.release(turn, { dueAt: now() + 5_000 })
      expect(await store.findNextDueAt()).toBe(now() + 5_000)
      expect(await leaseTurns(store)).toEqual([])
      advance(5_000)
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      expect(await store.findNextDueAt()).toBe(now())
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      expect(await store.findNextDueAt()).toBeUndefined()
    }),
  )
}

function describeOrder(openStore: OpenStore): void {
  test(
    'a turn knows the time of its first try, without tries that a shutdown interrupted',
    withStore(openStore, async ({ store, now, advance }) => {
      await admitAll(store, [sketchIntake('m1', inThread('t'))])
      const firstAttemptAt: (number | undefined)[] = []
      for (const uncounted of [true, undefined, undefined, undefined]) {
        const turn = await leaseOnlyTurn(store)
        firstAttemptAt.push(turn.firstAttemptAt)
        await store.release(turn, { dueAt: now() + 1_000, ...(uncounted && { isUncounted: uncounted }) })
        advance(1_000)
      }
      const first = now() - 3_000
      expect(firstAttemptAt).toEqual([undefined, undefined, first, first])
    }),
  )
  test(
    'turns of one thread run one after another while other threads continue',
    withStore(openStore, async ({ store, now, advance }) => {
      const intakes = ['a1', 'a2', 'a3'].map(id => sketchIntake(id, inThread('a')))
      await admitAll(store, [...intakes, sketchIntake('b1', inThread('b'))])
      const [a1, b1] = await leaseTurns(store)
      expect(messageIdsOf([a1, b1].filter(turn => turn !== undefined))).toEqual(['a1', 'b1'])
      if (!a1) return
      await store.release(a1, { dueAt: now() + 1_000 })
      expect(await leaseTurns(store)).toEqual([])
      advance(1_000)
      const secondLease = await leaseOnlyTurn(store)
      expect(secondLease.content.id).toBe('a1')
      await store.commit(secondLease, sayNothing())
      const next = await leaseOnlyTurn(store)
      expect(next.content.id).toBe('a2')
      await admitAll(store, [sketchIntake('a4', inThread('a'))])
      expect(await leaseTurns(store)).toEqual([])
      await store.commit(next, sketchAnswer(next, 'done'))
      expect((await leaseOnlyTurn(store)).content.id).toBe('a3')
    }),
  )
}

function describeFencing(openStore: OpenStore): void {
  test(
    'another worker takes over a turn after its lease expires, and the first one can no longer change it',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const lostTurn = await leaseOnlyTurn(store)
      advance(leaseMs - 1)
      expect(await leaseTurns(store)).toEqual([])
      advance(1)
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ message: lostTurn.message, attempt: 2 })
      expect(turn.token).not.toBe(lostTurn.token)
      const answer = sketchAnswer(lostTurn, 'too late', ['x'], { state: 1, aliases: ['late alias'] })
      await expect(store.commit(lostTurn, answer)).rejects.toThrow(LeaseLost)
      await expect(store.renew(lostTurn, leaseMs)).rejects.toThrow(LeaseLost)
      await expect(store.release(lostTurn, { dueAt: now() })).rejects.toThrow(LeaseLost)
      expect(await store.findResponse('answer to m1')).toBeUndefined()
      expect(await store.listDeliveries({ limit: 9 })).toEqual([])
      expect(await store.readState('echo', turn.thread)).toBeUndefined()
      await store.commit(turn, sketchAnswer(turn, 'in time'))
      expect(await store.findMessage('m1')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'a worker that returned a turn can neither renew nor return it again',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.release(turn, { dueAt: now() + 1_000, error: 'busy' })
      await expect(store.renew(turn, leaseMs)).rejects.toThrow(LeaseLost)
      await expect(store.release(turn, { dueAt: now() + leaseMs })).rejects.toThrow(LeaseLost)
      expect((await store.count()).messages).toMatchObject({ received: 1, working: 0 })
      advance(1_000)
      expect(await leaseOnlyTurn(store)).toMatchObject({ message: turn.message, attempt: 2 })
    }),
  )
  test(
    'a turn commits once, in any number of tries',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const tries = Array.from({ length: 5 }, () => store.commit(turn, sketchAnswer(turn, 'hello', ['x'])))
      const ends = await Promise.allSettled(tries)
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const settlement of ends)
        if (settlement.status === 'rejected') expect(settlement.reason).toBeInstanceOf(LeaseLost)
      expect(await store.listDeliveries({ limit: 9 })).toHaveLength(1)
    }),
  )
  test(
    'renew() makes a lease last from now',
    withStore(openStore, async ({ store, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      advance(leaseMs - 1)
      await store.renew(turn, leaseMs)
      advance(leaseMs - 1)
      expect(await leaseTurns(store)).toEqual([])
      await store.commit(turn, sayNothing())
    }),
  )
}

function describeBusyAgents(openStore: OpenStore): void {
  test(
    'leaseTurns() skips turns of busy agents and takes later ones',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const { message } = await store.admit({ ...sketchIntake('m2'), agent: 'help' }, 'c')
      const request = { holder: 'w', limit: 9, leaseMs }
      const agentShares = (agents: Record<string, number>) => ({
        maxPerGroup: 2,
        usedByGroup: new Map(Object.entries(agents)),
      })
      expect(await store.leaseTurns({ ...request, shares: agentShares({ echo: 2, help: 2 }) })).toEqual([])
      expect(await store.leaseTurns({ ...request, shares: agentShares({ echo: 2, help: 1 }) })).toMatchObject([
        { message, agent: 'help' },
      ])
      expect(await store.leaseTurns(request)).toMatchObject([{ agent: 'echo' }])
    }),
  )
  test(
    'leaseTurns() takes at most each agent’s share, for any number of due turns',
    withStore(openStore, async ({ store }) => {
      for (const id of ['m1', 'm2', 'm3', 'm4']) await store.admit(sketchIntake(id), 'c')
      await store.admit({ ...sketchIntake('m5'), agent: 'help' }, 'c')
      const shares = { maxPerGroup: 2, usedByGroup: new Map([['echo', 1]]) }
      const turns = await store.leaseTurns({ holder: 'w', limit: 3, leaseMs, shares })
      expect(turns.map(({ agent }) => agent)).toEqual(['echo', 'help'])
    }),
  )
}

function describeRelease(openStore: OpenStore): void {
  test(
    'a released turn repeats at its time, and an attempt that a shutdown released does not count',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.release(firstTurn, { dueAt: now(), error: 'the agent is busy' })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'received', error: 'the agent is busy' })
      const secondTurn = await leaseOnlyTurn(store)
      expect(secondTurn.attempt).toBe(2)
      await store.release(secondTurn, { dueAt: now(), isUncounted: true })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'received', error: 'the agent is busy' })
      const thirdTurn = await leaseOnlyTurn(store)
      expect(thirdTurn.attempt).toBe(2)
      await expect(store.commit(secondTurn, sayNothing())).rejects.toThrow(LeaseLost)
      await store.commit(thirdTurn, sayNothing())
    }),
  )
  test(
    'the store counts a first try that ended silently and later isolated tries, until a worker releases one in order',
    withStore(openStore, async ({ store, advance, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      for (const crashes of [0, 1, 1]) {
        expect(await leaseOnlyTurn(store)).toMatchObject({ crashes })
        advance(leaseMs)
      }
      const alone = await leaseOnlyTurn(store)
      await store.noteAlone(alone)
      advance(leaseMs)
      const lastTurn = await leaseOnlyTurn(store)
      expect(lastTurn).toMatchObject({ crashes: 2, attempt: 5 })
      await expect(store.noteAlone(alone)).rejects.toThrow(LeaseLost)
      await store.release(lastTurn, { dueAt: now() })
      expect(await leaseOnlyTurn(store)).toMatchObject({ crashes: 0, attempt: 6 })
    }),
  )
  test(
    'a worker that released a turn cannot commit it',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.release(turn, { dueAt: now() })
      await expect(store.commit(turn, sayNothing())).rejects.toThrow(LeaseLost)
    }),
  )
}

function describeStates(openStore: OpenStore): void {
  test(
    'a message goes from received to working, and then to answered, failed or ignored',
    withStore(openStore, async ({ store }) => {
      const stateOf = async (id: string) => (await store.findMessage(id))?.state
      await admitAll(
        store,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      expect(await stateOf('m1')).toBe('received')
      const [firstTurn, secondTurn, thirdTurn, fourthTurn] = await leaseTurns(store)
      if (!firstTurn || !secondTurn || !thirdTurn || !fourthTurn) throw new Error('expected four turns')
      expect(await stateOf('m1')).toBe('working')
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'hello'))
      await store.commit(secondTurn, {
        response: sketchResponse(secondTurn, 'sorry', 'failed'),
        deliveries: [],
        error: 'it broke',
      })
      await store.commit(thirdTurn, sayNothing())
      await store.commit(fourthTurn, { response: sketchResponse(fourthTurn, 'no', 'rejected'), deliveries: [] })
      expect(await Promise.all(['m1', 'm2', 'm3', 'm4'].map(stateOf))).toEqual([
        'answered',
        'failed',
        'ignored',
        'answered',
      ])
      expect(await store.findMessage('m2')).toMatchObject({ error: 'it broke', response: { status: 'failed' } })
    }),
  )
  test(
    'the store writes an agent’s state with its answer, per thread, and keeps it after a silent turn',
    withStore(openStore, async ({ store }) => {
      await admitAll(store, [sketchIntake('m1', inThread('t')), sketchIntake('m2', inThread('t')), sketchIntake('m3')])
      const [firstTurn, otherTurn] = await leaseTurns(store)
      if (!firstTurn || !otherTurn) throw new Error('expected two turns')
      await store.commit(firstTurn, { deliveries: [], state: { count: 1 } })
      expect(await store.readState('echo', firstTurn.thread)).toEqual({ count: 1 })
      expect(await store.readState('echo', otherTurn.thread)).toBeUndefined()
      expect(await store.readState('help', firstTurn.thread)).toBeUndefined()
      const secondTurn = await leaseOnlyTurn(store)
      await store.commit(secondTurn, sayNothing())
      expect(await store.readState('echo', firstTurn.thread)).toEqual({ count: 1 })
    }),
  )
}
