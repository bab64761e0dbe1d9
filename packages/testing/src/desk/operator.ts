import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  admitAll,
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function operatorContract(open: OpenDesk): void {
  describe('the operator', () => {
    describeMessages(open)
    describeDeliveryPages(open)
    describeCounts(open)
  })
}

function describeMessages(open: OpenDesk): void {
  test(
    'listMessages() shows the newest first, page by page',
    withDesk(open, async ({ desk }) => {
      const numbers = await admitAll(
        desk,
        ['m1', 'm2', 'm3'].map(id => sketchIntake(id)),
      )
      const page = await desk.listMessages({ limit: 2 })
      expect(page.map(({ id }) => id)).toEqual(['m3', 'm2'])
      expect(page[0]).toEqual({
        message: numbers[2],
        id: 'm3',
        via: 'a2a',
        agent: 'echo',
        sender: '@ada@peer.test',
        verified: false,
        state: 'received',
        received_at: '2026-01-01T00:00:00.000Z',
        preview: 'words of m3',
        correlation_id: 'c-m3',
        flags: [],
      })
      expect((await desk.listMessages({ limit: 2, after: numbers[1] as number })).map(({ id }) => id)).toEqual(['m1'])
    }),
  )
  test(
    'a preview is one short line',
    withDesk(open, async ({ desk }) => {
      const content = `  two\n\n lines ${'and much more '.repeat(100)}`
      await desk.admit(sketchIntake('m1', { message: { parts: [{ kind: 'text', mime: 'text/plain', content }] } }), 'c')
      const [{ preview } = { preview: '' }] = await desk.listMessages({ limit: 1 })
      expect(preview).toMatch(/^two lines and much more/)
      expect(preview.length).toBeLessThan(300)
    }),
  )
  test(
    'findMessage() shows the first of several messages that claim one id, and any by its number',
    withDesk(open, async ({ desk }) => {
      const first = await desk.admit(sketchIntake('m1'), 'c1')
      const later = { ...sketchIntake('m1'), duplicateKey: 'another key' }
      const second = await desk.admit({ ...later, message: { ...later.message, received_via: 'email' } }, 'c2')
      const shown = await desk.findMessage('m1')
      expect(shown).toMatchObject({ number: first.message, correlation_id: 'c1', namesakes: [second.message] })
      expect(await desk.findMessage(`#${second.message}`)).toMatchObject({ correlation_id: 'c2' })
      expect(await desk.findMessage('#999')).toBeUndefined()
    }),
  )
  test(
    'findMessage() shows all there is to know',
    withDesk(open, async ({ desk }) => {
      const first = sketchIntake('m1', inThread('t', { flags: ['odd'] }))
      await desk.admit(first, 'c1')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, sketchAnswer(turn, 'hello', ['x', 'y']))
      const record = await desk.findMessage('m1')
      expect(record).toMatchObject({ proofs: first.proofs, state: 'answered', flags: ['odd'], duplicates: 0 })
      expect(record).toMatchObject({ correlation_id: 'c1', response: { id: 'answer to m1' } })
      expect(record?.message).toEqual({ ...first.message, raw: { id: 'm1' } })
      expect(record?.deliveries).toMatchObject([
        { to: 'x', state: 'queued', attempts: 0, message_id: 'm1', wire: null },
        { to: 'y', state: 'queued' },
      ])
      expect(record).not.toHaveProperty('error')
      expect(await desk.findMessage('m2')).toBeUndefined()
      expect(await desk.findMessage('answer to m1')).toBeUndefined()
    }),
  )
}

function describeDeliveryPages(open: OpenDesk): void {
  test(
    'listDeliveries() shows the newest first, page by page; the id of a delivery is its place',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, sketchAnswer(turn, 'hello', ['a', 'b', 'c', 'd']))
      const [a] = await leaseDeliveries(desk, 1)
      if (a) await desk.settle(a, { state: 'sent' })
      const page = await desk.listDeliveries({ limit: 2 })
      expect(page.map(({ to }) => to)).toEqual(['d', 'c'])
      const after = Number(page.at(-1)?.id)
      expect((await desk.listDeliveries({ limit: 9, after })).map(({ to }) => to)).toEqual(['b', 'a'])
      expect((await desk.listDeliveries({ limit: 9, after, state: 'queued' })).map(({ to }) => to)).toEqual(['b'])
      expect((await desk.listDeliveries({ limit: 9, after, state: 'sent' })).map(({ to }) => to)).toEqual(['a'])
    }),
  )
}

function describeCounts(open: OpenDesk): void {
  test(
    'count() agrees with what happened, step by step',
    withDesk(open, async ({ desk, now }) => {
      const counts = async () => {
        const { messages, deliveries } = await desk.count()
        return [Object.values(messages), Object.values(deliveries)].map(values => values.join(' '))
      }
      // received working answered failed ignored, and queued sent later dead
      expect(await counts()).toEqual(['0 0 0 0 0', '0 0 0 0 0'])
      await admitAll(
        desk,
        ['m1', 'm2', 'm3'].map(id => sketchIntake(id, inThread(id))),
      )
      await desk.admit(sketchIntake('m4', { disposition: 'keep' }), 'c')
      await desk.admit(sketchIntake('m1'), 'a duplicate')
      expect(await counts()).toEqual(['3 0 0 0 1', '0 0 0 0 0'])
      const [one, two, three] = await leaseTurns(desk)
      if (!one || !two || !three) throw new Error('expected three turns')
      expect(await counts()).toEqual(['0 3 0 0 1', '0 0 0 0 0'])
      await desk.commit(one, sketchAnswer(one, 'hi', ['a', 'b', 'c', 'd']))
      await desk.release(two, { dueAt: now() + 1 })
      await desk.commit(three, sayNothing())
      expect(await counts()).toEqual(['1 0 1 0 2', '4 0 0 0 0'])
      const [a, b, c] = await leaseDeliveries(desk)
      if (!a || !b || !c) throw new Error('expected deliveries')
      await desk.settle(a, { state: 'sent' })
      await desk.settle(b, { state: 'later', dueAt: now() + 1, error: 'busy' })
      await desk.settle(c, { state: 'dead', error: 'gone' })
      expect(await counts()).toEqual(['1 0 1 0 2', '1 1 1 1 0'])
      await desk.retryDelivery(c.id)
      await desk.dropDelivery(b.id)
      expect(await counts()).toEqual(['1 0 1 0 2', '2 1 0 1 0'])
      await desk.dismissDelivery(b.id)
      expect(await counts()).toEqual(['1 0 1 0 2', '2 1 0 0 1'])
    }),
  )
}
