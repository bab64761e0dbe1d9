import type { Delivery, Desk } from '@postern/core'
import { LeaseLost } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  placesOf,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  toDeliveryPlan,
  withDesk,
} from './under-test.ts'

export function deliveryContract(open: OpenDesk): void {
  describe('deliveries', () => {
    describeSending(open)
    describePostponing(open)
    describeLanes(open)
    describeDeliveryFencing(open)
    describeOperatorControl(open)
  })
}

/** Admits `id` to `thread` and answers it to `places`. */
async function answerTo(desk: Desk, id: string, thread: string, places: readonly string[]): Promise<void> {
  await desk.admit(sketchIntake(id, inThread(thread)), `c-${id}`)
  const turn = await leaseOnlyTurn(desk)
  await desk.commit(turn, sketchAnswer(turn, `answer ${id}`, places))
}

const sent = { state: 'sent', wire: { type: 'Create' } } as const

function describeSending(open: OpenDesk): void {
  test(
    'a delivery carries the message and the whole answer, and is settled as sent with its wire',
    withDesk(open, async ({ desk, now }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      const delivery = await leaseOnlyDelivery(desk)
      expect(delivery).toMatchObject({ attempt: 1, queuedAt: now(), via: 'a2a', agent: 'echo', to: 'x' })
      expect(delivery).toMatchObject({
        target: { inbox: 'x' },
        correlationId: 'c-m1',
        message: { id: 'm1', raw: { id: 'm1' } },
      })
      expect(delivery.response).toMatchObject({ id: 'answer to m1', parts: [{ content: 'answer m1' }] })
      await desk.settle(delivery, sent)
      const [record] = await desk.listDeliveries({ limit: 9 })
      expect(record).toEqual({
        id: delivery.id,
        via: 'a2a',
        to: 'x',
        state: 'sent',
        attempts: 1,
        message_id: 'm1',
        wire: sent.wire,
      })
      expect(await leaseDeliveries(desk)).toEqual([])
    }),
  )
  test(
    'a pulled delivery is sent with the commit and holds up nobody',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      const pulled = { ...toDeliveryPlan('x'), pulled: true }
      await desk.commit(turn, { response: sketchResponse(turn, 'hi'), deliveries: [pulled, toDeliveryPlan('x')] })
      expect(await desk.listDeliveries({ limit: 9, state: 'sent' })).toMatchObject([{ to: 'x', attempts: 1 }])
      expect(await leaseDeliveries(desk)).toHaveLength(1)
    }),
  )
  test(
    'a delivery put off comes again at its time with its error shown',
    withDesk(open, async ({ desk, now, advance }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      await desk.settle(first, { state: 'later', dueAt: now() + 2_000, error: 'HTTP 503', wire: { try: 1 } })
      const next_attempt_at = new Date(now() + 2_000).toISOString()
      const waiting = { state: 'later', attempts: 1, last_error: 'HTTP 503', next_attempt_at, wire: { try: 1 } }
      expect(await desk.listDeliveries({ limit: 9 })).toMatchObject([waiting])
      expect(await desk.nextDue()).toBe(now() + 2_000)
      expect(await leaseDeliveries(desk)).toEqual([])
      advance(2_000)
      const second = await leaseOnlyDelivery(desk)
      expect(second).toMatchObject({ id: first.id, attempt: 2, queuedAt: first.queuedAt })
      await desk.settle(second, { state: 'dead', error: 'HTTP 410' })
      const dead = { state: 'dead', attempts: 2, last_error: 'HTTP 410', wire: { try: 1 } }
      expect(await desk.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([dead])
      expect(await desk.nextDue()).toBeUndefined()
    }),
  )
}

function describePostponing(open: OpenDesk): void {
  test(
    'a delivery that was put off untried gets its attempt back',
    withDesk(open, async ({ desk, now, advance }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, sketchAnswer(turn, 'hello', ['x']))
      const attempts: number[] = []
      for (const uncounted of [true, false, true]) {
        const [held] = await leaseDeliveries(desk)
        if (!held) throw new Error('there is a delivery')
        attempts.push(held.attempt)
        await desk.settle(held, { state: 'later', dueAt: now() + 10, error: 'left alone', uncounted })
        advance(10)
      }
      expect(attempts).toEqual([1, 1, 2])
      expect(await desk.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'later', attempts: 1 }])
      const [last] = await leaseDeliveries(desk)
      if (last) await desk.settle(last, { state: 'sent' })
      expect(await desk.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', attempts: 2 }])
    }),
  )
}

function describeLanes(open: OpenDesk): void {
  test(
    'deliveries to one place in one thread come one after another while others go on',
    withDesk(open, async ({ desk, now, advance }) => {
      await answerTo(desk, 'm1', 't', ['x', 'y'])
      await answerTo(desk, 'm2', 't', ['x'])
      await answerTo(desk, 'm3', 'u', ['x'])
      const [toX, ...others] = await leaseDeliveries(desk)
      expect(placesOf([toX as Delivery, ...others])).toEqual(['m1 → x', 'm1 → y', 'm3 → x'])
      await desk.settle(toX as Delivery, { state: 'later', dueAt: now() + 1_000, error: 'busy' })
      expect(await leaseDeliveries(desk)).toEqual([])
      advance(1_000)
      const again = await leaseOnlyDelivery(desk)
      expect(placesOf([again])).toEqual(['m1 → x'])
      await desk.settle(again, sent)
      expect(placesOf(await leaseDeliveries(desk))).toEqual(['m2 → x'])
    }),
  )
  test(
    'a dead delivery does not hold up its lane, and handshakes share it',
    withDesk(open, async ({ desk }) => {
      const handshake = { disposition: 'keep' as const, deliveries: [toDeliveryPlan('x')] }
      await desk.admit(sketchIntake('follow', inThread('t', handshake)), 'c')
      await answerTo(desk, 'm1', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      expect(placesOf([first])).toEqual(['handshake → x'])
      await desk.settle(first, { state: 'dead', error: 'gone' })
      expect(placesOf(await leaseDeliveries(desk))).toEqual(['m1 → x'])
    }),
  )
}

function describeDeliveryFencing(open: OpenDesk): void {
  test(
    'an outlived delivery lease is taken up by another, and its first holder can settle nothing',
    withDesk(open, async ({ desk, advance }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      const lost = await leaseOnlyDelivery(desk)
      advance(leaseMs - 1)
      await desk.renew(lost, leaseMs)
      advance(leaseMs - 1)
      expect(await leaseDeliveries(desk)).toEqual([])
      advance(1)
      const held = await leaseOnlyDelivery(desk)
      expect(held).toMatchObject({ id: lost.id, attempt: 2 })
      await expect(desk.settle(lost, { state: 'dead', error: 'no' })).rejects.toThrow(LeaseLost)
      await expect(desk.renew(lost, leaseMs)).rejects.toThrow(LeaseLost)
      await desk.settle(held, sent)
      await expect(desk.settle(held, sent)).rejects.toThrow(LeaseLost)
      expect(await desk.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', attempts: 2 }])
    }),
  )
}

function describeOperatorControl(open: OpenDesk): void {
  test(
    'retryDelivery() tries a dead delivery at once, with its attempts kept and its clock begun anew',
    withDesk(open, async ({ desk, now, advance }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      await desk.settle(first, { state: 'dead', error: 'gone' })
      advance(1_000)
      expect(await desk.retryDelivery(first.id)).toBe(true)
      expect(await desk.listDeliveries({ limit: 9, state: 'dead' })).toEqual([])
      const second = await leaseOnlyDelivery(desk)
      expect(second).toMatchObject({ id: first.id, attempt: 2, queuedAt: now() })
      await desk.settle(second, sent)
      expect(await desk.retryDelivery(first.id)).toBe(false)
      expect(await desk.retryDelivery('no such delivery')).toBe(false)
    }),
  )
  test(
    'retryDelivery() hurries a waiting lane and keeps its order',
    withDesk(open, async ({ desk, now }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      await answerTo(desk, 'm2', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      await desk.settle(first, { state: 'later', dueAt: now() + 60_000, error: 'busy' })
      const [second] = await desk.listDeliveries({ limit: 1, state: 'queued' })
      expect(await desk.retryDelivery(second?.id ?? '')).toBe(true)
      const again = await leaseOnlyDelivery(desk)
      expect(again.id).toBe(first.id)
      expect(await desk.retryDelivery(first.id)).toBe(true)
      expect(await leaseDeliveries(desk), 'what is being tried stays with who tries it').toEqual([])
      await desk.settle(again, sent)
      expect(placesOf(await leaseDeliveries(desk))).toEqual(['m2 → x'])
    }),
  )
  test(
    'a dead delivery that is tried again waits for the one of its lane that is being tried',
    withDesk(open, async ({ desk }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      await answerTo(desk, 'm2', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      await desk.settle(first, { state: 'dead', error: 'gone' })
      const second = await leaseOnlyDelivery(desk)
      await desk.retryDelivery(first.id)
      expect(await leaseDeliveries(desk)).toEqual([])
      await desk.settle(second, sent)
      expect(placesOf(await leaseDeliveries(desk))).toEqual(['m1 → x'])
    }),
  )
  test(
    'dropDelivery() gives an undelivered delivery up, also under who is trying it, and its lane goes on',
    withDesk(open, async ({ desk }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      await answerTo(desk, 'm2', 't', ['x'])
      const first = await leaseOnlyDelivery(desk)
      expect(await desk.dropDelivery(first.id)).toBe(true)
      expect(await desk.dropDelivery(first.id)).toBe(false)
      expect(await desk.dropDelivery('no such delivery')).toBe(false)
      await expect(desk.settle(first, sent)).rejects.toThrow(LeaseLost)
      const dropped = { id: first.id, last_error: 'dropped by the operator' }
      expect(await desk.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([dropped])
      const second = await leaseOnlyDelivery(desk)
      await desk.settle(second, sent)
      expect(await desk.dropDelivery(second.id)).toBe(false)
    }),
  )
  test(
    'dismissDelivery() takes a dead letter out of the dead and keeps it on record; it can still be retried',
    withDesk(open, async ({ desk }) => {
      await answerTo(desk, 'm1', 't', ['x'])
      const { id } = await leaseOnlyDelivery(desk)
      expect(await desk.dismissDelivery(id)).toBe(false)
      await desk.dropDelivery(id)
      expect(await desk.dismissDelivery(id)).toBe(true)
      expect(await desk.dismissDelivery(id)).toBe(false)
      expect(await desk.dropDelivery(id)).toBe(false)
      expect(await desk.listDeliveries({ limit: 9, state: 'dead' })).toEqual([])
      expect(await desk.listDeliveries({ limit: 9, state: 'dismissed' })).toMatchObject([{ id }])
      expect((await desk.count()).deliveries).toMatchObject({ dead: 0, dismissed: 1 })
      expect(await desk.retryDelivery(id)).toBe(true)
      await desk.settle(await leaseOnlyDelivery(desk), sent)
      expect((await desk.count()).deliveries).toMatchObject({ sent: 1, dismissed: 0 })
    }),
  )
}
