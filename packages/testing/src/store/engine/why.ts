// Tests how a store finds the subject of `postern why` and what it returns about it.
import type { Refusal, RunSetup } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { admitRequirement } from '../setup/requirement-sketch.ts'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function whyContract(openStore: OpenStore): void {
  describe('why', () => {
    describeSubjects(openStore)
    describeRecords(openStore)
    describeRefusals(openStore)
    describeSetups(openStore)
    describeRuns(openStore)
  })
}

const byId = (...ids: readonly string[]) => ({ ids })

function describeSubjects(openStore: OpenStore): void {
  test(
    'findWhySubject() prefers ids to numbers and numbers to addresses, and finds unindexed values',
    withStore(openStore, async ({ store }) => {
      const firstAdmission = await store.admit(sketchIntake('2', { aliases: ['alias of 2'] }), 'c-one')
      const authorship = { author: 'https://peer.test/ada', object: 'https://peer.test/posts/1' }
      const secondAdmission = await store.admit(
        sketchIntake('m2', { authorship, aliases: [authorship.object] }),
        'c-two',
      )
      expect([firstAdmission.message, secondAdmission.message]).toEqual([1, 2])
      const findSubject = async (query: Parameters<typeof store.findWhySubject>[0]) => {
        const subject = await store.findWhySubject(query)
        return subject && [subject.by, ...subject.messages]
      }
      expect(await findSubject({ ids: ['2'], message: 2 })).toEqual(['id', 1])
      expect(await findSubject({ ids: ['none', '2'] })).toEqual(['id', 1])
      expect(await findSubject({ ids: [], message: 2 })).toEqual(['message', 2])
      expect(await findSubject(byId(authorship.object))).toEqual(['id', 2])
      expect(await findSubject(byId('c-two'))).toEqual(['id', 2])
      expect(await findSubject({ ids: ['x'], sender: '@ADA@peer.test' })).toEqual(['address', 2, 1])
      expect(await findSubject({ ids: ['x'], agent: 'echo', sender: '@echo@agents.test' })).toEqual(['address', 2, 1])
      expect(await findSubject({ ids: ["'; --"], message: 99, delivery: 99, agent: 'nobody' })).toBeUndefined()
    }),
  )
  test(
    'findWhySubject() finds a message by its answer, its deliveries and its task',
    withStore(openStore, async ({ store }) => {
      const task = { owner: 'ada', id: 'task-1', context: 'thread of m1' }
      const { message } = await store.admit(sketchIntake('m1', { task }), 'c')
      const turn = await leaseOnlyTurn(store)
      const answer = sketchAnswer(turn, 'hello', ['x'])
      await store.commit(turn, answer)
      const [delivery] = await leaseDeliveries(store)
      const subject = { messages: [message] }
      expect(await store.findWhySubject({ ids: [], delivery: Number(delivery?.id) })).toMatchObject(subject)
      expect(await store.findWhySubject(byId('task-1'))).toMatchObject(subject)
    }),
  )
}

function describeRecords(openStore: OpenStore): void {
  test(
    'listWhyRecords() distinguishes a running turn from a waiting one, in the requested order',
    withStore(openStore, async ({ store, now }) => {
      const trace = { received_at: 5, sent_at: 3, steps: [] }
      const { message: m1 } = await store.admit(sketchIntake('m1', inThread('t', { flags: ['odd'], trace })), 'c1')
      const { message: m2 } = await store.admit(sketchIntake('m2', inThread('t')), 'c2')
      await store.admit(sketchIntake('m2', inThread('t')), 'c2')
      const { message: m3 } = await store.admit(sketchIntake('m3', { disposition: 'keep' }), 'c3')
      await leaseTurns(store)
      const [third, second, first] = await store.listWhyRecords([m3, m2, m1, 99])
      expect(third).toMatchObject({ message: { number: m3, id: 'm3' }, deliveries: [], requirements: [] })
      expect(third?.turn).toBeUndefined()
      const ahead = { message: m1, isLeased: true, dueAt: now() + leaseMs }
      expect(second).toMatchObject({ message: { duplicates: 1 }, turn: { state: 'received', attempt: 0, ahead } })
      expect(second?.turn).not.toHaveProperty('dueAt')
      expect(first).toMatchObject({
        message: {
          agent: 'echo',
          sender: '@ada@peer.test',
          isVerified: false,
          flags: ['odd'],
          sentAt: 3,
          isTask: false,
        },
        turn: { state: 'working', attempt: 1, crashes: 1, leaseOwner: expect.any(String), dueAt: now() + leaseMs },
      })
    }),
  )
  test(
    'listWhyRecords() returns the answer, each delivery, and a turn that waits for its next try',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c1')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', ['x', 'y']))
      const [firstDelivery, secondDelivery] = await leaseDeliveries(store)
      if (firstDelivery) await store.settle(firstDelivery, { state: 'dead', reason: 'refused', error: 'gone' })
      if (secondDelivery)
        await store.settle(secondDelivery, {
          state: 'later',
          dueAt: now() + 9_000,
          reason: 'unavailable',
          error: 'busy',
        })
      const { message } = await store.admit(sketchIntake('m2'), 'c2')
      await store.release(await leaseOnlyTurn(store), { dueAt: now() + 5_000, error: 'down' })
      const [answeredRecord, waitingRecord] = await store.listWhyRecords([1, message])
      expect(answeredRecord).toMatchObject({
        answer: { status: 'completed' },
        turn: { state: 'answered', endedAt: now() },
        deliveries: [
          { to: 'x', state: 'dead', attempts: 1, endedAt: now(), reason: 'refused', error: 'gone', isAnswer: true },
          { to: 'y', state: 'later', attempts: 1, dueAt: now() + 9_000, reason: 'unavailable', error: 'busy' },
        ],
      })
      expect(waitingRecord?.turn).toMatchObject({ state: 'received', attempt: 1, dueAt: now() + 5_000, error: 'down' })
      expect(waitingRecord?.turn).not.toHaveProperty('ahead')
    }),
  )
  test(
    'listWhyRecords() returns requirements, also expired ones',
    withStore(openStore, async storeSetup => {
      const { store, advance } = storeSetup
      await admitRequirement(storeSetup, 'r1')
      const statusOf = async () => (await store.listWhyRecords([1]))[0]?.requirements.map(({ status }) => status)
      expect(await statusOf()).toEqual(['open'])
      advance(365 * 86_400_000)
      expect(await statusOf()).toEqual(['expired'])
    }),
  )
}

function describeRefusals(openStore: OpenStore): void {
  test(
    'listWhyRefusals() finds refusals by id, claimed sender and agent, newest first',
    withStore(openStore, async ({ store }) => {
      const refuse = (reason: string, claims: Partial<Refusal>) =>
        store.refuse({ at: '2026-01-01T00:00:00.000Z', via: 'email', from: 'x', code: 'expired', reason, ...claims })
      refuse('by id', { peer_id: 'm1', agent: 'echo' })
      refuse('by key', { claimed_sender: 'https://peer.test/users/ada#main-key', agent: 'other' })
      refuse('by address', { claimed_sender: '@Ada@peer.test' })
      refuse('another', { claimed_sender: 'https://peer.test/users/adam' })
      const findRefusals = async (query: Parameters<typeof store.listWhyRefusals>[0]) =>
        (await store.listWhyRefusals(query)).map(({ reason }) => reason)
      expect(await findRefusals(byId('<m1>', 'm1'))).toEqual(['by id'])
      expect(await findRefusals({ ids: ['x'], sender: '@ada@peer.test' })).toEqual(['by address', 'by key'])
      expect(await findRefusals({ ids: ['x'], agent: 'echo' })).toEqual(['by id'])
      expect(await findRefusals(byId('nothing'))).toEqual([])
    }),
  )
}

const setup: RunSetup = { mode: 'production', origin: 'https://one.test', agents: ['desk'], issuers: [] }

function describeSetups(openStore: OpenStore): void {
  test(
    'a store refuses a gateway of another mode or origin, unless that gateway adopts it',
    withStore(openStore, async ({ store }) => {
      expect(await store.beginGatewayRun('one', setup)).toBeUndefined()
      await store.noteGatewayRun('one', 'ends')
      const [otherOrigin, simulated] = [
        { ...setup, origin: 'https://two.test' },
        { ...setup, mode: 'simulation' as const },
      ]
      const difference = { isRunning: false, stored: 'https://one.test', given: 'https://two.test', fact: 'origin' }
      expect(await store.beginGatewayRun('two', otherOrigin)).toEqual(difference)
      const { fact, stored, given: givenFact } = (await store.beginGatewayRun('two', simulated)) ?? {}
      expect([fact, stored, givenFact]).toEqual(['mode', 'production', 'simulation'])
      expect(await store.beginGatewayRun('two', { ...setup, agents: ['desk', 'help'] })).toBeUndefined()
      await store.noteGatewayRun('two', 'ends')
      expect(await store.beginGatewayRun('three', otherOrigin, { adopts: true })).toBeUndefined()
      await store.noteGatewayRun('three', 'ends')
      expect(await store.beginGatewayRun('four', otherOrigin)).toBeUndefined()
    }),
  )
  test(
    'the data of a simulation continues under another origin',
    withStore(openStore, async ({ store }) => {
      const simulated = { ...setup, mode: 'simulation' as const }
      expect(await store.beginGatewayRun('one', simulated)).toBeUndefined()
      await store.noteGatewayRun('one', 'ends')
      expect(await store.beginGatewayRun('two', { ...simulated, origin: 'https://two.test' })).toBeUndefined()
    }),
  )
}

function describeRuns(openStore: OpenStore): void {
  test(
    'a time without a running gateway counts as downtime for messages of that time',
    withStore(openStore, async ({ store, now, advance }) => {
      const startedAt = now()
      await store.beginGatewayRun('one', setup)
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      advance(1_000)
      await store.noteGatewayRun('one', 'runs')
      await store.beginGatewayRun('two', setup)
      advance(1_000)
      await store.noteGatewayRun('one', 'ends')
      advance(1_000)
      await store.noteGatewayRun('two', 'ends')
      advance(600_000)
      await store.beginGatewayRun('three', setup)
      const downtimes = async () => (await store.listWhyRecords([message]))[0]?.downtimes
      expect(await downtimes()).toEqual([{ from: startedAt + 3_000, to: startedAt + 603_000 }])
    }),
  )
}
