// Tests how a store handles bounced deliveries and budgets for sending.
import type { Bounce, RelationEffect, Store, TurnBudget } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function bounceContract(openStore: OpenStore): void {
  describe('bounces and budgets', () => {
    describeBounces(openStore)
    describeBudgets(openStore)
  })
}

/** Sends one answer and returns the id of its delivery. */
async function sendOne(store: Store): Promise<string> {
  await store.admit(sketchIntake('m1'), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, 'yes', ['ada']))
  const delivery = await leaseOnlyDelivery(store)
  await store.settle(delivery, { state: 'sent', note: 'taken' })
  return delivery.id
}

async function applyEffect(store: Store, id: string, effect: RelationEffect, agent = 'echo'): Promise<void> {
  await store.admit(sketchIntake(id, { agent, disposition: 'keep', effects: [effect] }), 'c')
}

function bounce(delivery: string, members: Partial<Bounce> = {}): Bounce {
  return { kind: 'bounced', delivery, error: 'no such mailbox', ...members }
}

function describeBounces(openStore: OpenStore): void {
  test(
    'a sent delivery that bounces becomes dead, with the reason',
    withStore(openStore, async ({ store }) => {
      const id = await sendOne(store)
      await applyEffect(store, 'b', bounce(id))
      const [record] = await store.listDeliveries({ limit: 1 })
      expect(record).toMatchObject({ id, state: 'dead', last_error: 'no such mailbox' })
      expect((await store.count()).deliveries).toMatchObject({ sent: 0, dead: 1 })
      expect(await leaseDeliveries(store)).toEqual([])
    }),
  )
  test(
    'a delivery with a temporary bounce repeats later, a limited number of times',
    withStore(openStore, async ({ store, now, advance }) => {
      const id = await sendOne(store)
      const retry = { at: now() + 1_000, attempts: 2 }
      await applyEffect(store, 'b1', bounce(id, { retry }))
      expect((await store.count()).deliveries).toMatchObject({ sent: 0, later: 1 })
      expect(await leaseDeliveries(store)).toEqual([])
      advance(1_000)
      const secondLease = await leaseOnlyDelivery(store)
      expect(secondLease).toMatchObject({ id, attempt: 2, queuedAt: now() })
      await store.settle(secondLease, { state: 'sent' })
      await applyEffect(store, 'b2', bounce(id, { retry: { at: now(), attempts: 2 } }))
      expect((await store.listDeliveries({ limit: 1 }))[0]).toMatchObject({ state: 'dead' })
    }),
  )
  test(
    'a bounced delivery keeps its time when the one before it ends',
    withStore(openStore, async ({ store, now, advance }) => {
      const answer = async (name: string) => {
        await store.admit(sketchIntake(name, inThread('t')), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'yes', ['ada']))
        return leaseOnlyDelivery(store)
      }
      const first = await answer('one')
      await store.settle(first, { state: 'sent' })
      const { id } = first
      const next = await answer('two')
      await applyEffect(store, 'b1', bounce(id, { retry: { at: now() + 3_600_000, attempts: 2 } }))
      await store.settle(next, { state: 'sent' })
      expect(await leaseDeliveries(store)).toEqual([])
      advance(3_600_000)
      expect(await leaseOnlyDelivery(store)).toMatchObject({ id, attempt: 2 })
    }),
  )
  test(
    'a bounce suppresses its address for that agent, even after a delivery or a complaint',
    withStore(openStore, async ({ store }) => {
      const id = await sendOne(store)
      await applyEffect(store, 'b1', bounce(id, { isDelivered: true, suppresses: true, error: 'complained of' }))
      expect((await store.listDeliveries({ limit: 1 }))[0]).toMatchObject({
        state: 'sent',
        last_error: 'complained of',
      })
      const key = { via: 'a2a', agent: 'echo', relation: 'suppressed', peer: 'ada' } as const
      expect(await store.findRelation(key)).toMatchObject({ target: 'complained of' })
      expect(await store.findRelation({ ...key, agent: 'help' })).toBeUndefined()
    }),
  )
  test(
    'a bounce that leaves the mailbox usable does not suppress the address',
    withStore(openStore, async ({ store }) => {
      const id = await sendOne(store)
      await applyEffect(store, 'b1', bounce(id, { error: 'mailbox full' }))
      const key = { via: 'a2a', agent: 'echo', relation: 'suppressed', peer: 'ada' } as const
      expect(await store.findRelation(key)).toBeUndefined()
    }),
  )
  test(
    'a bounce does not change an unsent, foreign or unknown delivery',
    withStore(openStore, async ({ store }) => {
      const id = await sendOne(store)
      await applyEffect(store, 'b1', bounce(id), 'help')
      await applyEffect(store, 'b2', bounce('nonsense'))
      await applyEffect(store, 'b3', bounce('999999'))
      expect((await store.listDeliveries({ limit: 9 })).map(({ state }) => state)).toEqual(['sent'])
      await applyEffect(store, 'b4', bounce(id))
      await applyEffect(store, 'b5', bounce(id, { error: 'once more' }))
      expect((await store.listDeliveries({ limit: 1 }))[0]).toMatchObject({ last_error: 'no such mailbox' })
    }),
  )
}

function describeBudgets(openStore: OpenStore): void {
  const budget = (key: string, members: Partial<TurnBudget> = {}): TurnBudget => ({
    key,
    turns: 2,
    withinMs: 1_000,
    flag: `over ${key}`,
    ...members,
  })
  const admit = async (store: Store, id: string, budgets: readonly TurnBudget[], thread = id) => {
    await store.admit(sketchIntake(id, inThread(thread, { budgets })), 'c')
    const record = await store.findMessage(id)
    return [record?.state, ...(record?.flags ?? [])].join(' ')
  }
  test(
    'all threads with one budget key share one budget, until its time is over',
    withStore(openStore, async ({ store, advance }) => {
      for (const id of ['m1', 'm2']) expect(await admit(store, id, [budget('ada')])).toBe('received')
      expect(await admit(store, 'm3', [budget('ada')])).toBe('ignored over ada')
      expect(await admit(store, 'm4', [budget('bob')])).toBe('received')
      expect(await admit(store, 'm5', [])).toBe('received')
      advance(1_000)
      expect(await admit(store, 'm6', [budget('ada')])).toBe('received')
    }),
  )
  test(
    'the time of a budget begins with its first message, and later ones do not prolong it',
    withStore(openStore, async ({ store, advance }) => {
      expect(await admit(store, 'm1', [budget('ada')])).toBe('received')
      advance(600)
      expect(await admit(store, 'm2', [budget('ada')])).toBe('received')
      advance(399)
      expect(await admit(store, 'm3', [budget('ada')])).toBe('ignored over ada')
      advance(1)
      for (const id of ['m4', 'm5']) expect(await admit(store, id, [budget('ada')])).toBe('received')
      expect(await admit(store, 'm6', [budget('ada')])).toBe('ignored over ada')
    }),
  )
  test(
    'an exhausted budget does not reduce others',
    withStore(openStore, async ({ store }) => {
      const emptyBudget = budget('none', { turns: 0 })
      expect(await admit(store, 'm1', [budget('ada', { turns: 1 }), emptyBudget])).toBe('ignored over none')
      expect(await admit(store, 'm2', [budget('ada', { turns: 1 })])).toBe('received')
      expect(await admit(store, 'm3', [budget('ada', { turns: 1 })])).toBe('ignored over ada')
    }),
  )
  test(
    'a message of a task neither uses nor needs a budget',
    withStore(openStore, async ({ store }) => {
      const admitAndFind = async (id: string) => {
        const task = { owner: 'ada', id, context: id }
        await store.admit(sketchIntake(id, inThread(id, { task, budgets: [budget('ada')] })), 'c')
        return (await store.findMessage(id))?.state
      }
      expect([await admitAndFind('t1'), await admitAndFind('t2'), await admitAndFind('t3')]).toEqual([
        'received',
        'received',
        'received',
      ])
      expect(await admit(store, 'm1', [budget('ada')])).toBe('received')
    }),
  )
  test(
    'each thread has its own thread budget, which a duplicate does not use',
    withStore(openStore, async ({ store }) => {
      const budgets = [budget('same', { isPerThread: true })]
      expect(await admit(store, 'm1', budgets, 't')).toBe('received')
      await store.admit(sketchIntake('m1', inThread('t', { budgets })), 'c')
      expect(await admit(store, 'm2', budgets, 't')).toBe('received')
      expect(await admit(store, 'm3', budgets, 't')).toBe('ignored over same')
      expect(await admit(store, 'm4', budgets, 'u')).toBe('received')
    }),
  )
}
