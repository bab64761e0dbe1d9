import type { Bounce, Desk, RelationEffect, TurnBudget } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function bounceContract(open: OpenDesk): void {
  describe('bounces and budgets', () => {
    describeBounces(open)
    describeBudgets(open)
  })
}

/** One answer, sent; the id of its delivery. */
async function sendOne(desk: Desk): Promise<string> {
  await desk.admit(sketchIntake('m1'), 'c')
  const turn = await leaseOnlyTurn(desk)
  await desk.commit(turn, sketchAnswer(turn, 'yes', ['ada']))
  const delivery = await leaseOnlyDelivery(desk)
  await desk.settle(delivery, { state: 'sent', note: 'taken' })
  return delivery.id
}

async function tell(desk: Desk, id: string, effect: RelationEffect, agent = 'echo'): Promise<void> {
  await desk.admit(sketchIntake(id, { agent, disposition: 'keep', effects: [effect] }), 'c')
}

function bounce(delivery: string, rest: Partial<Bounce> = {}): Bounce {
  return { kind: 'bounced', delivery, error: 'no such mailbox', ...rest }
}

function describeBounces(open: OpenDesk): void {
  test(
    'a delivery that was sent and comes back is dead, with the reason',
    withDesk(open, async ({ desk }) => {
      const id = await sendOne(desk)
      await tell(desk, 'b', bounce(id))
      const [record] = await desk.listDeliveries({ limit: 1 })
      expect(record).toMatchObject({ id, state: 'dead', last_error: 'no such mailbox' })
      expect((await desk.count()).deliveries).toMatchObject({ sent: 0, dead: 1 })
      expect(await leaseDeliveries(desk)).toEqual([])
    }),
  )
  test(
    'one that may come through later is tried again then, but not for ever',
    withDesk(open, async ({ desk, now, advance }) => {
      const id = await sendOne(desk)
      const retry = { at: now() + 1_000, attempts: 2 }
      await tell(desk, 'b1', bounce(id, { retry }))
      expect((await desk.count()).deliveries).toMatchObject({ sent: 0, later: 1 })
      expect(await leaseDeliveries(desk)).toEqual([])
      advance(1_000)
      const again = await leaseOnlyDelivery(desk)
      expect(again).toMatchObject({ id, attempt: 2, queuedAt: now() })
      await desk.settle(again, { state: 'sent' })
      await tell(desk, 'b2', bounce(id, { retry: { at: now(), attempts: 2 } }))
      expect((await desk.listDeliveries({ limit: 1 }))[0]).toMatchObject({ state: 'dead' })
    }),
  )
  test(
    'where it went to is suppressed for that agent, also when it arrived and was complained of',
    withDesk(open, async ({ desk }) => {
      const id = await sendOne(desk)
      await tell(desk, 'b1', bounce(id, { isDelivered: true, suppresses: true, error: 'complained of' }))
      expect((await desk.listDeliveries({ limit: 1 }))[0]).toMatchObject({ state: 'sent', last_error: 'complained of' })
      const key = { via: 'a2a', agent: 'echo', relation: 'suppressed', peer: 'ada' } as const
      expect(await desk.findRelation(key)).toMatchObject({ target: 'complained of' })
      expect(await desk.findRelation({ ...key, agent: 'help' })).toBeUndefined()
    }),
  )
  test(
    'what is not sent, not the agent’s or no delivery at all stays as it is',
    withDesk(open, async ({ desk }) => {
      const id = await sendOne(desk)
      await tell(desk, 'b1', bounce(id), 'help')
      await tell(desk, 'b2', bounce('nonsense'))
      await tell(desk, 'b3', bounce('999999'))
      expect((await desk.listDeliveries({ limit: 9 })).map(({ state }) => state)).toEqual(['sent'])
      await tell(desk, 'b4', bounce(id))
      await tell(desk, 'b5', bounce(id, { error: 'once more' }))
      expect((await desk.listDeliveries({ limit: 1 }))[0]).toMatchObject({ last_error: 'no such mailbox' })
    }),
  )
}

function describeBudgets(open: OpenDesk): void {
  const budget = (key: string, rest: Partial<TurnBudget> = {}): TurnBudget => ({
    key,
    turns: 2,
    withinMs: 1_000,
    flag: `over ${key}`,
    ...rest,
  })
  const admit = async (desk: Desk, id: string, budgets: readonly TurnBudget[], thread = id) => {
    await desk.admit(sketchIntake(id, inThread(thread, { budgets })), 'c')
    const record = await desk.findMessage(id)
    return [record?.state, ...(record?.flags ?? [])].join(' ')
  }
  test(
    'a budget is shared by all threads that name its key, until its time is over',
    withDesk(open, async ({ desk, advance }) => {
      for (const id of ['m1', 'm2']) expect(await admit(desk, id, [budget('ada')])).toBe('received')
      expect(await admit(desk, 'm3', [budget('ada')])).toBe('ignored over ada')
      expect(await admit(desk, 'm4', [budget('bob')])).toBe('received')
      expect(await admit(desk, 'm5', [])).toBe('received')
      advance(1_000)
      expect(await admit(desk, 'm6', [budget('ada')])).toBe('received')
    }),
  )
  test(
    'nothing is taken of the others when one has no room',
    withDesk(open, async ({ desk }) => {
      const none = budget('none', { turns: 0 })
      expect(await admit(desk, 'm1', [budget('ada', { turns: 1 }), none])).toBe('ignored over none')
      expect(await admit(desk, 'm2', [budget('ada', { turns: 1 })])).toBe('received')
      expect(await admit(desk, 'm3', [budget('ada', { turns: 1 })])).toBe('ignored over ada')
    }),
  )
  test(
    'a budget per thread is one for each thread; a duplicate takes nothing of it',
    withDesk(open, async ({ desk }) => {
      const each = [budget('same', { isPerThread: true })]
      expect(await admit(desk, 'm1', each, 't')).toBe('received')
      await desk.admit(sketchIntake('m1', inThread('t', { budgets: each })), 'c')
      expect(await admit(desk, 'm2', each, 't')).toBe('received')
      expect(await admit(desk, 'm3', each, 't')).toBe('ignored over same')
      expect(await admit(desk, 'm4', each, 'u')).toBe('received')
    }),
  )
}
