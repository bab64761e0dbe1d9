// Tests how a store keeps, lists and ends requirements.
import type { Answer, Store } from '@postern/pipeline'
import { maxOpenRequirements } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import {
  admitRequirement,
  fromAda,
  requirementDigestOf,
  requirementMs,
  sketchDecision,
  sketchRequirement,
} from '../setup/requirement-sketch.ts'
import { adasTask, sketchTaskIntake } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, sketchAnswer, sketchIntake, sketchResponse, withStore } from '../setup/under-test.ts'

export function requirementContract(openStore: OpenStore): void {
  describe('requirements', () => {
    describeLife(openStore)
    describeEnds(openStore)
  })
}

function describeLife(openStore: OpenStore): void {
  test(
    'a requirement appears together with its answer',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1', fromAda(inThread('talk'))), 'c')
      const turn = await leaseOnlyTurn(store)
      const requirements = [sketchRequirement(turn, 'd1', now())]
      const answer: Answer = { ...sketchAnswer(turn, 'May I?'), requirements }
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
      await store.commit(turn, answer)
      const requirement = await store.findRequirement({ digest: requirementDigestOf('d1') })
      expect(requirement).toMatchObject({
        ...requirements[0],
        agent: 'echo',
        via: 'a2a',
        message: turn.message,
        thread: turn.thread,
        status: 'open',
        issuedAt: now(),
        address: '@ada@peer.test',
      })
      expect(await store.findRequirement({ id: 'd1' })).toEqual(requirement)
      await expect(
        store.commit(turn, { ...answer, requirements: [sketchRequirement(turn, 'd2', now())] }),
      ).rejects.toThrow()
      expect(await store.findRequirement({ id: 'd2' })).toBeUndefined()
      advance(requirementMs)
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'expired' })
    }),
  )
  test(
    'the store lists requirements newest first, by page and by status',
    withStore(openStore, async storeSetup => {
      for (const id of ['d1', 'd2', 'd3']) await admitRequirement(storeSetup, id)
      await storeSetup.store.resolveRequirement(sketchDecision('d2', { outcome: 'declined' }), 'c')
      const idsFor = async (filter: Partial<Parameters<Store['listRequirements']>[0]>) =>
        (await storeSetup.store.listRequirements({ limit: 9, ...filter })).map(({ id }) => id)
      expect(await idsFor({})).toEqual(['d3', 'd2', 'd1'])
      expect(await idsFor({ status: 'open' })).toEqual(['d3', 'd1'])
      expect(await idsFor({ status: 'declined' })).toEqual(['d2'])
      const [newest] = await storeSetup.store.listRequirements({ limit: 1 })
      expect(await idsFor({ after: newest?.number ?? 0, limit: 1 })).toEqual(['d2'])
      storeSetup.advance(requirementMs)
      expect(await idsFor({ status: 'expired' })).toEqual(['d3', 'd1'])
    }),
  )
  test(
    'the oldest of too many requirements in one thread expire',
    withStore(openStore, async storeSetup => {
      for (let count = 0; count <= maxOpenRequirements; count += 1) await admitRequirement(storeSetup, `d${count}`)
      await admitRequirement(storeSetup, 'elsewhere', inThread('another'))
      expect(await storeSetup.store.findRequirement({ id: 'd0' })).toMatchObject({ status: 'expired' })
      expect(await storeSetup.store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await storeSetup.store.listRequirements({ limit: 99, status: 'open' })).toHaveLength(
        maxOpenRequirements + 1,
      )
    }),
  )
  test(
    'the store deletes expired requirements when it gets a new one',
    withStore(openStore, async storeSetup => {
      await admitRequirement(storeSetup, 'old')
      storeSetup.advance(32 * 24 * requirementMs)
      expect(await storeSetup.store.findRequirement({ id: 'old' })).toMatchObject({ status: 'expired' })
      await admitRequirement(storeSetup, 'new')
      expect(await storeSetup.store.findRequirement({ id: 'old' })).toBeUndefined()
    }),
  )
}

function describeEnds(openStore: OpenStore): void {
  test(
    'a decision continues its requirement’s task, and no ended task',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1', sketchTaskIntake(adasTask))
      await store.resolveRequirement(sketchDecision('d1'), 'c')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted' })
      const turn = await leaseOnlyTurn(store)
      expect(turn.task).toEqual(adasTask)
      const requirements = [sketchRequirement(turn, 'd2', storeSetup.now())]
      await store.commit(turn, {
        response: sketchResponse(turn, 'and?', 'auth_required'),
        deliveries: [],
        requirements,
      })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'auth_required' })
      expect(await store.cancelTask(adasTask)).toBe(true)
      const late = await store.resolveRequirement(sketchDecision('d2'), 'c')
      expect(late).toMatchObject({ outcome: 'refused', reason: 'ended', requirement: { status: 'expired' } })
    }),
  )
  test(
    'a requirement ends when the agent withdraws its answer',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      const turn = await admitRequirement(storeSetup, 'd1')
      const response = `answer to ${turn.content.id}`
      await store.storeActions([{ kind: 'delete', response, deliveryPlan: { deliveries: [] } }], 'c')
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'expired' })
      expect(await store.resolveRequirement(sketchDecision('d1'), 'c')).toMatchObject({ reason: 'expired' })
    }),
  )
  test(
    'an answer that the agent withdraws early requires nothing',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('asked d1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const response = sketchResponse(turn, 'one moment', 'working')
      await store.storeInterimAnswer(turn, { response, deliveries: [] })
      await store.storeActions([{ kind: 'delete', response: response.id, deliveryPlan: { deliveries: [] } }], 'c')
      const requirements = [sketchRequirement(turn, 'd1', now())]
      await store.commit(turn, { ...sketchAnswer(turn, 'may I'), isRevision: true, requirements })
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
    }),
  )
  test(
    'a requirement disappears with its message, by a withdrawal or an erasure',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      const authorship = { author: 'ada', object: 'post 1' }
      await admitRequirement(storeSetup, 'd1', inThread('talk', { authorship }))
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
      await admitRequirement(storeSetup, 'd2', sketchTaskIntake(adasTask))
      await store.admit(sketchIntake('later'), 'c')
      storeSetup.advance(10)
      await store.expireTasks({ unchangedSince: storeSetup.now(), limit: 9 })
      expect(await store.findRequirement({ id: 'd2' })).toBeUndefined()
    }),
  )
}
