// Tests the lists, pages and counts that a store shows to the operator.
import { isoTime } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function operatorContract(openStore: OpenStore): void {
  describe('the operator', () => {
    describeMessages(openStore)
    describeDeliveryPages(openStore)
    describeCounts(openStore)
    describeFigures(openStore)
  })
}

function describeMessages(openStore: OpenStore): void {
  test(
    'listMessages() lists the newest first, in pages',
    withStore(openStore, async ({ store }) => {
      const numbers = await admitAll(
        store,
        ['m1', 'm2', 'm3'].map(id => sketchIntake(id)),
      )
      const page = await store.listMessages({ limit: 2 })
      expect(page.map(({ id }) => id)).toEqual(['m3', 'm2'])
      expect(page[0]).toEqual({
        message: numbers[2],
        thread: expect.any(Number),
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
      expect((await store.listMessages({ limit: 2, after: numbers[1] as number })).map(({ id }) => id)).toEqual(['m1'])
    }),
  )
  test(
    'listMessages() returns the status and time of an answer, and listConversations() both ends of each conversation',
    withStore(openStore, async ({ store }) => {
      const [first, second, third] = await admitAll(store, [
        sketchIntake('m1', inThread('talk')),
        sketchIntake('m2', inThread('talk')),
        sketchIntake('m3', inThread('other')),
      ])
      const turn = await leaseTurns(store)
      expect(await store.hasAnswered('echo')).toBe(false)
      for (const leasedTurn of turn) await store.commit(leasedTurn, sketchAnswer(leasedTurn, 'hello'))
      const [newest, unansweredMessage, answeredMessage] = await store.listMessages({ limit: 3 })
      expect([answeredMessage?.status, unansweredMessage?.status, newest?.thread === answeredMessage?.thread]).toEqual([
        'completed',
        undefined,
        false,
      ])
      expect(Date.parse(answeredMessage?.answered_at ?? '')).not.toBeNaN()
      expect(unansweredMessage?.thread).toBe(answeredMessage?.thread)
      const conversations = await store.listConversations({ limit: 9 })
      expect(conversations).toMatchObject([
        { thread: newest?.thread, first_message: third, last_message: third },
        {
          thread: answeredMessage?.thread,
          agent: 'echo',
          via: 'a2a',
          sender: '@ada@peer.test',
          first_message: first,
          last_message: second,
        },
      ])
      expect(await store.listConversations({ limit: 1, after: conversations[0]?.thread })).toEqual([conversations[1]])
      expect([await store.hasAnswered('echo'), await store.hasAnswered('nobody')]).toEqual([true, false])
    }),
  )
  test(
    'findMessage() lists a turn’s calls with their messages, and its stages with their times',
    withStore(openStore, async ({ store }) => {
      const [caller = 0] = await admitAll(store, [sketchIntake('m1')])
      const turn = await leaseOnlyTurn(store)
      const receivedAt = '2026-01-01T00:00:02.000Z'
      const tool = { call_id: 'c1', name: 'delegate' }
      const delegationStep = {
        kind: 'delegation',
        tool: { ...tool, args: { worker: '@Echo@agents.test', task: 'help' } },
      }
      const resultStep = { kind: 'tool_result', tool: { ...tool, success: true } }
      const stage = { kind: 'activity', stage: 'asking', latency_ms: 1_500 }
      await store.note(turn, [
        { name: 'call', at: '2026-01-01T00:00:01.000Z', body: delegationStep },
        { name: 'end', at: receivedAt, body: resultStep },
        { name: 'stage', at: receivedAt, body: stage },
      ])
      const called_by = { agent: 'echo', message: caller, correlation_id: 'c-m1' }
      const [calledMessage] = await admitAll(store, [sketchIntake('m2', { message: { called_by } })])
      expect((await store.findMessage(`#${caller}`))?.steps).toEqual([
        { kind: 'stage', name: 'asking', at: Date.parse('2026-01-01T00:00:00.500Z'), ms: 1_500 },
        {
          kind: 'call',
          name: '@Echo@agents.test',
          at: Date.parse('2026-01-01T00:00:01.000Z'),
          ms: 1_000,
          message: calledMessage,
        },
      ])
      expect((await store.findMessage(`#${calledMessage}`))?.steps).toBeUndefined()
    }),
  )
  test(
    'a preview is one short line',
    withStore(openStore, async ({ store }) => {
      const content = `  two\n\n lines ${'and much more '.repeat(100)}`
      await store.admit(
        sketchIntake('m1', { message: { parts: [{ kind: 'text', mime: 'text/plain', content }] } }),
        'c',
      )
      const [{ preview } = { preview: '' }] = await store.listMessages({ limit: 1 })
      expect(preview).toMatch(/^two lines and much more/)
      expect(preview.length).toBeLessThan(300)
    }),
  )
  test(
    'findMessage() returns the first of several messages with one id, and any by its number',
    withStore(openStore, async ({ store }) => {
      const firstAdmission = await store.admit(sketchIntake('m1'), 'c1')
      const laterIntake = { ...sketchIntake('m1'), duplicateKey: 'another key' }
      const secondAdmission = await store.admit(
        { ...laterIntake, message: { ...laterIntake.message, received_via: 'email' } },
        'c2',
      )
      const record = await store.findMessage('m1')
      expect(record).toMatchObject({
        number: firstAdmission.message,
        correlation_id: 'c1',
        namesakes: [secondAdmission.message],
      })
      expect(await store.findMessage(`#${secondAdmission.message}`)).toMatchObject({ correlation_id: 'c2' })
      expect(await store.findMessage('#999')).toBeUndefined()
    }),
  )
  test(
    'findMessage() returns the complete record',
    withStore(openStore, async ({ store }) => {
      const first = sketchIntake('m1', inThread('t', { flags: ['odd'] }))
      await store.admit(first, 'c1')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', ['x', 'y']))
      const record = await store.findMessage('m1')
      expect(record).toMatchObject({ proofs: first.proofs, state: 'answered', flags: ['odd'], duplicates: 0 })
      expect(record).toMatchObject({ correlation_id: 'c1', response: { id: 'answer to m1' } })
      expect(record?.message).toEqual({ ...first.message, thread_id: expect.any(String), raw: { id: 'm1' } })
      expect(record?.deliveries).toMatchObject([
        { to: 'x', state: 'queued', attempts: 0, message_id: 'm1', wire: null },
        { to: 'y', state: 'queued' },
      ])
      expect(record).not.toHaveProperty('error')
      expect(await store.findMessage('m2')).toBeUndefined()
      expect(await store.findMessage('answer to m1')).toEqual(record)
    }),
  )
}

function describeDeliveryPages(openStore: OpenStore): void {
  test(
    'listDeliveries() lists the newest first, in pages, with delivery ids as cursors',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', ['a', 'b', 'c', 'd']))
      const [a] = await leaseDeliveries(store, 1)
      if (a) await store.settle(a, { state: 'sent' })
      const page = await store.listDeliveries({ limit: 2 })
      expect(page.map(({ to }) => to)).toEqual(['d', 'c'])
      const cursor = Number(page.at(-1)?.id)
      expect((await store.listDeliveries({ limit: 9, after: cursor })).map(({ to }) => to)).toEqual(['b', 'a'])
      expect((await store.listDeliveries({ limit: 9, after: cursor, state: 'queued' })).map(({ to }) => to)).toEqual([
        'b',
      ])
      expect((await store.listDeliveries({ limit: 9, after: cursor, state: 'sent' })).map(({ to }) => to)).toEqual([
        'a',
      ])
    }),
  )
}

function describeCounts(openStore: OpenStore): void {
  test(
    'count() agrees with each step',
    withStore(openStore, async ({ store, now }) => {
      const counts = async () => {
        const { messages, deliveries } = await store.count()
        return [Object.values(messages), Object.values(deliveries)].map(values => values.join(' '))
      }
      // received working answered failed ignored, and queued sent later dead
      expect(await counts()).toEqual(['0 0 0 0 0', '0 0 0 0 0'])
      await admitAll(
        store,
        ['m1', 'm2', 'm3'].map(id => sketchIntake(id, inThread(id))),
      )
      await store.admit(sketchIntake('m4', { disposition: 'keep' }), 'c')
      await store.admit(sketchIntake('m1'), 'a duplicate')
      expect(await counts()).toEqual(['3 0 0 0 1', '0 0 0 0 0'])
      const [firstTurn, secondTurn, thirdTurn] = await leaseTurns(store)
      if (!firstTurn || !secondTurn || !thirdTurn) throw new Error('expected three turns')
      expect(await counts()).toEqual(['0 3 0 0 1', '0 0 0 0 0'])
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'hi', ['a', 'b', 'c', 'd']))
      await store.release(secondTurn, { dueAt: now() + 1 })
      await store.commit(thirdTurn, sayNothing())
      expect(await counts()).toEqual(['1 0 1 0 2', '4 0 0 0 0'])
      const [a, b, c] = await leaseDeliveries(store)
      if (!a || !b || !c) throw new Error('expected deliveries')
      await store.settle(a, { state: 'sent' })
      await store.settle(b, { state: 'later', dueAt: now() + 1, reason: 'unavailable', error: 'busy' })
      await store.settle(c, { state: 'dead', reason: 'refused', error: 'gone' })
      expect(await counts()).toEqual(['1 0 1 0 2', '1 1 1 1 0'])
      await store.retryDelivery(c.id)
      await store.dropDelivery(b.id)
      expect(await counts()).toEqual(['1 0 1 0 2', '2 1 0 1 0'])
      await store.dismissDelivery(b.id)
      expect(await counts()).toEqual(['1 0 1 0 2', '2 1 0 0 1'])
    }),
  )
}

function describeFigures(openStore: OpenStore): void {
  test(
    'listWaitingHosts() counts open deliveries by host, or by the domain of a mailbox, with the next due time',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const inboxes = ['https://busy.test/a', 'https://busy.test/b', 'https://quick.test/c']
      await store.commit(
        turn,
        sketchAnswer(turn, 'hello', [...inboxes, 'ann@mail.test', 'ben@MAIL.test', '@cy@mail.test']),
      )
      const queuedAt = now()
      advance(10)
      const [a, b, c] = await leaseDeliveries(store)
      if (!a || !b || !c) throw new Error('expected deliveries')
      await store.settle(a, { state: 'later', dueAt: now() + 500, reason: 'unavailable', error: 'HTTP 503' })
      await store.settle(b, { state: 'later', dueAt: now() + 900, reason: 'unavailable', error: 'HTTP 503' })
      await store.settle(c, { state: 'sent' })
      expect(await store.listWaitingHosts(9)).toEqual([
        { host: 'mail.test', deliveries: 3, failing: 0, oldestAt: queuedAt },
        { host: 'busy.test', deliveries: 2, failing: 2, oldestAt: queuedAt, nextAt: now() + 500 },
      ])
      expect((await store.listWaitingHosts(1)).map(({ host }) => host)).toEqual(['mail.test'])
    }),
  )
  test(
    'listTimings() returns arrival times and durations, newest first, none from before',
    withStore(openStore, async ({ store, now, advance }) => {
      const cameAt = (id: string, via: 'a2a' | 'email', receivedAt: number) =>
        sketchIntake(id, inThread(id, { message: { received_via: via, received_at: isoTime(receivedAt) } }))
      await store.admit(cameAt('old', 'a2a', now() - 10_000), 'c')
      await store.admit(cameAt('m1', 'a2a', now()), 'c')
      await store.admit(cameAt('m2', 'email', now() + 1), 'c')
      const arrivedFrom = isoTime(now())
      const startedAt = now()
      const turns = await leaseTurns(store)
      const firstTurn = turns.find(({ content }) => content.id === 'm1')
      if (!firstTurn) throw new Error('expected a turn')
      advance(70)
      await store.commit(firstTurn, sayNothing())
      const timings = [
        { channel: 'email', at: startedAt + 1 },
        { channel: 'a2a', at: startedAt, tookMs: 70 },
      ]
      expect(await store.listTimings({ since: arrivedFrom, limit: 9 })).toEqual({ timings, isWhole: true })
      expect(await store.listTimings({ since: arrivedFrom, limit: 1 })).toEqual({
        timings: timings.slice(0, 1),
        isWhole: false,
      })
    }),
  )
}
