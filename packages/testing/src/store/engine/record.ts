// Tests what a store records about a message: its trace, its keys, its attempts and refusals.
import type { ProofKey, TurnAttempt } from '@postern/message'
import type { Refusal, Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseMs,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  leaseTurns,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

/** Tests the record of a message: its trace, its attempts and its refusals. */
export function recordContract(openStore: OpenStore): void {
  describe('the record', () => {
    describeWayIn(openStore)
    describeTurns(openStore)
    describeDeliveries(openStore)
    describeForgetting(openStore)
  })
}

const step = { kind: 'http-signature', verdict: 'pass', key_digest: 'd1', after: 0.4, ms: 3.2 } as const
const key: ProofKey = { digest: 'd1', kind: 'pem', material: '-----BEGIN PUBLIC KEY-----', owner: 'https://a.test/ann' }
const ann = { author: 'https://a.test/ann', object: 'note' }
const trace = { received_at: Date.UTC(2026, 0, 2), steps: [step] }

function sketchAttempt(attempt: number, members: Partial<TurnAttempt> = {}): TurnAttempt {
  return { attempt, leased_at: attempt, ended_at: attempt + 1, outcome: 'unavailable', ...members }
}

const traceOf = async (store: Store, id: string) => (await store.findMessage(id))?.trace
const attemptsOf = async (store: Store, id: string) => (await store.findMessage(id))?.turn?.attempts

function describeWayIn(openStore: OpenStore): void {
  test(
    'the record keeps the trace of a message, with the time of its admission',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1', { trace, proofKeys: [key] }), 'c')
      expect(await traceOf(store, 'm1')).toEqual({ ...trace, admitted_at: now() })
    }),
  )
  test(
    'the record keeps a key once, in its own form, for any number of messages',
    withStore(openStore, async ({ store }) => {
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, { trace, proofKeys: [key] }), 'c')
      expect(await store.findProofKey('d1')).toEqual(key)
      const sharedKey = { digest: 'd2', kind: 'dkim', material: 'v=DKIM1; p=' } as const
      await store.admit(sketchIntake('m4', { proofKeys: [sharedKey] }), 'c')
      expect(await store.findProofKey('d2')).toMatchObject(sharedKey)
      expect(await store.findProofKey('d3')).toBeUndefined()
    }),
  )
}

function describeTurns(openStore: OpenStore): void {
  test(
    'the record keeps each attempt at a turn, including released ones',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.release(firstTurn, { dueAt: now(), error: 'away', attempt: sketchAttempt(1, { next_at: now() }) })
      const secondTurn = await leaseOnlyTurn(store)
      const attempt = sketchAttempt(2, { outcome: 'answered', given: { history: [1], digest: 'x' } })
      await store.commit(secondTurn, sketchAnswer(secondTurn, 'hi', [], { attempt }))
      expect(await attemptsOf(store, 'm1')).toEqual([sketchAttempt(1, { next_at: now() }), attempt])
      expect((await store.findMessage('m1'))?.turn).toMatchObject({ is_leased: false, ended_at: now() })
    }),
  )
  test(
    'the record of an endlessly repeated turn stays small and keeps the newest attempt',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const error = { name: 'Error', message: 'x'.repeat(1_000) }
      for (let count = 1; count <= 40; count += 1) {
        const turn = await leaseOnlyTurn(store)
        await store.release(turn, { dueAt: now(), attempt: sketchAttempt(count, { error }) })
      }
      const attempts = (await attemptsOf(store, 'm1')) ?? []
      expect(JSON.stringify(attempts).length).toBeLessThan(20_000)
      expect(attempts.at(-1)).toMatchObject({ attempt: 40 })
    }),
  )
  test(
    'the record notes an interrupted attempt, unless the author has withdrawn the message',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', { authorship: ann }), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.noteAttempt(turn, sketchAttempt(1, { outcome: 'edited' }))
      expect(await attemptsOf(store, 'm1')).toMatchObject([{ outcome: 'edited' }])
      await store.withdraw('a2a', [{ kind: 'forget', ...ann }])
      expect(await attemptsOf(store, 'm1')).toEqual([])
      await store.noteAttempt(turn, sketchAttempt(1, { outcome: 'deleted' }))
      expect(await attemptsOf(store, 'm1')).toEqual([])
    }),
  )
  test(
    'readTurn() returns a turn as a worker gets it, without a lease',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      expect(await store.readTurn(message)).toMatchObject({ message, attempt: 1, content: { id: 'm1' } })
      expect(await leaseTurns(store)).toHaveLength(1)
      expect(await store.readTurn(message + 1)).toBeUndefined()
    }),
  )
  test(
    'the record shows the current state of the entries in an agent’s input',
    withStore(openStore, async ({ store, now }) => {
      const { message: keptMessage } = await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const { message: removedMessage } = await store.admit(
        sketchIntake('m2', { ...inThread('t'), authorship: ann }),
        'c',
      )
      await store.withdraw('a2a', [{ kind: 'forget', ...ann }])
      expect(await store.listChanges([keptMessage, removedMessage, 9_999])).toEqual([
        { seq: removedMessage, how: 'forgotten', at: now() },
        { seq: 9_999, how: 'forgotten' },
      ])
    }),
  )
}

function describeDeliveries(openStore: OpenStore): void {
  const answerOnce = async (store: Store) => {
    await store.admit(sketchIntake('m1', { authorship: ann }), 'c')
    const turn = await leaseOnlyTurn(store)
    await store.commit(turn, { response: sketchResponse(turn, 'hi'), deliveries: [{ to: 'x', target: null }] })
  }
  test(
    'each delivery attempt is a row, unlike a postponement',
    withStore(openStore, async ({ store, now }) => {
      await answerOnce(store)
      const attempt = { at: now(), ms: 12, status: 503, reply_line: '503 Service Unavailable' }
      const retryOutcome = { state: 'later', dueAt: now(), reason: 'unavailable', error: 'away' } as const
      await store.settle(await leaseOnlyDelivery(store), { ...retryOutcome, attempt })
      await store.settle(await leaseOnlyDelivery(store), { ...retryOutcome, isUncounted: true })
      const lastDelivery = await leaseOnlyDelivery(store)
      await store.settle(lastDelivery, { state: 'sent', attempt: { at: now(), ms: 3, status: 202 } })
      const log = [
        { attempt: 1, ...attempt, outcome: 'later', error: 'away', next_at: now() },
        { attempt: 2, at: now(), ms: 3, status: 202, outcome: 'sent' },
      ]
      expect((await store.findDelivery(lastDelivery.id))?.attempt_log).toEqual(log)
      expect((await store.listDeliveries({ limit: 9 }))[0]?.attempt_log).toEqual(log)
      expect((await store.findMessage('m1'))?.deliveries[0]?.attempt_log).toEqual(log)
      expect(await store.findDelivery('999')).toBeUndefined()
      expect(await store.findDelivery('no number')).toBeUndefined()
    }),
  )
  test(
    'the record of an endlessly retried delivery keeps the newest attempts, and truncates long answers',
    withStore(openStore, async ({ store, now }) => {
      await answerOnce(store)
      for (let count = 0; count < 60; count += 1) {
        const attempt = { at: now(), ms: 1, reply_line: '\ud800'.repeat(5_000) }
        await store.settle(await leaseOnlyDelivery(store), {
          state: 'later',
          dueAt: now(),
          reason: 'unavailable',
          error: 'no',
          attempt,
        })
      }
      const log = (await store.findMessage('m1'))?.deliveries[0]?.attempt_log ?? []
      expect(log).toHaveLength(50)
      expect(log.at(-1)).toMatchObject({ attempt: 60, reply_line: '\ufffd'.repeat(500) })
    }),
  )
}

const refusal: Refusal = {
  at: '2026-01-01T00:00:00.000Z',
  via: 'a2a',
  from: '192.0.2.1',
  code: 'expired',
  reason: 'Too old',
  endpoint: 'A2A JSONRPC',
  status: 401,
  claimed_sender: 'https://a.test/ann#main-key',
  agent: 'echo',
  peer_id: 'm1',
}

function describeForgetting(openStore: OpenStore): void {
  test(
    'a refusal has its endpoint, content and claimed sender, at a bounded length',
    withStore(openStore, async ({ store }) => {
      store.refuse(refusal)
      store.refuse({ ...refusal, peer_id: 'x'.repeat(100_000), claimed_sender: 'y'.repeat(100_000) })
      const [long, short] = await store.listRefusals({ limit: 9 })
      expect(short).toMatchObject(refusal)
      expect([long?.peer_id?.length, long?.claimed_sender?.length]).toEqual([300, 300])
    }),
  )
  test(
    'forgetting a person removes only their keys and refusals in their name',
    withStore(openStore, async ({ store }) => {
      const bob = { ...key, digest: 'd2', owner: 'https://a.test/bob' }
      await store.admit(sketchIntake('m1', { authorship: ann, trace, proofKeys: [key, bob] }), 'c')
      store.refuse(refusal)
      store.refuse({ ...refusal, claimed_sender: 'https://a.test/anne#main-key' })
      await store.listRefusals({ limit: 9 })
      await store.forgetPerson({ addresses: [{ via: 'activitypub', address: '@ann@a.test', subject: ann.author }] })
      expect(await store.findProofKey('d1')).toBeUndefined()
      expect(await store.findProofKey('d2')).toBeDefined()
      expect((await store.listRefusals({ limit: 9 })).map(refusal => refusal.claimed_sender)).toEqual([
        'https://a.test/anne#main-key',
      ])
      await store.admit(sketchIntake('m2', { trace, proofKeys: [key] }), 'c')
      expect(await store.findProofKey('d1')).toEqual(key)
    }),
  )
  test(
    'the attempts of a delivery disappear with its rows',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1', { authorship: { ...ann, author: 'https://a.test/ann' } }), 'c')
      const turn = await leaseOnlyTurn(store)
      const peer = 'https://a.test/ann'
      await store.commit(turn, { response: sketchResponse(turn, 'hi'), deliveries: [{ to: 'x', target: null, peer }] })
      const delivery = await leaseOnlyDelivery(store)
      await store.settle(delivery, { state: 'sent', attempt: { at: now(), ms: 3, reply_line: '250 ann' } })
      await store.forgetPerson({ addresses: [{ via: 'activitypub', address: '@ann@a.test', subject: peer }] })
      expect(await store.findDelivery(delivery.id)).toBeUndefined()
      await store.admit(sketchIntake('m2'), 'c')
      const next = await leaseOnlyTurn(store)
      await store.commit(next, { response: sketchResponse(next, 'hi'), deliveries: [{ to: 'x', target: null }] })
      const [nextDelivery] = await store.leaseDeliveries({ holder: 'h', limit: 1, leaseMs, rank: 'answer' })
      expect(await store.findDelivery(nextDelivery?.id ?? '')).toMatchObject({ attempt_log: [] })
    }),
  )
}
