// Tests how a store keeps followers, blocks and other relations between peers and agents.
import type { RelationEffect, RelationKind, Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  toDeliveryPlan,
  withStore,
} from '../setup/under-test.ts'

export function relationContract(openStore: OpenStore): void {
  describe('relations', () => {
    describeRelating(openStore)
    describeDecisions(openStore)
    describeBlocks(openStore)
    describeReopening(openStore)
    describeListed(openStore)
  })
}

const ada = 'https://peer.test/ada'

/** Sketches a message that is stored without a turn, with its effects. */
function effecting(...effects: readonly RelationEffect[]): IntakeSketch {
  return { disposition: 'keep', effects }
}

function relate(peer: string, relation: RelationKind = 'follower', target = `inbox of ${peer}`): RelationEffect {
  return { kind: 'relate', relation, peer, target }
}

/** Lists the followers of `echo`, oldest first. */
async function followersOf(store: Store, agent = 'echo'): Promise<readonly string[]> {
  const relations = await store.listRelations({ via: 'a2a', agent, relation: 'follower', limit: 100 })
  expect(await store.countRelations({ via: 'a2a', agent, relation: 'follower' })).toBe(relations.length)
  return relations.map(({ peer }) => peer)
}

function describeRelating(openStore: OpenStore): void {
  test(
    'a message relates a peer to its own agent, with its target',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1', effecting(relate(ada))), 'c')
      const key = { via: 'a2a', agent: 'echo', relation: 'follower', peer: ada } as const
      const relation = await store.findRelation(key)
      expect(relation).toEqual({ ...key, target: `inbox of ${ada}`, since: now(), number: expect.any(Number) })
      expect(await store.findRelation({ ...key, relation: 'pending' })).toBeUndefined()
      expect(await store.findRelation({ ...key, agent: 'help' })).toBeUndefined()
      expect(await store.findRelation({ ...key, via: 'activitypub' })).toBeUndefined()
      expect(await followersOf(store)).toEqual([ada])
      expect(await followersOf(store, 'help')).toEqual([])
    }),
  )
  test(
    'a second relation of one peer replaces the target of the first',
    withStore(openStore, async ({ store, now, advance }) => {
      const startedAt = now()
      await store.admit(sketchIntake('m1', effecting(relate(ada))), 'c')
      advance(10)
      await store.admit(sketchIntake('m2', effecting(relate(ada, 'follower', 'elsewhere'))), 'c')
      const relation = await store.findRelation({ via: 'a2a', agent: 'echo', relation: 'follower', peer: ada })
      expect(relation).toMatchObject({ target: 'elsewhere', since: startedAt })
      expect(await followersOf(store)).toEqual([ada])
    }),
  )
  test(
    'unrelating removes only that relation, and nothing for an unrelated peer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', effecting(relate(ada), relate(ada, 'pending'), relate('bob'))), 'c')
      const leaving: RelationEffect = { kind: 'unrelate', relation: 'follower', peer: ada }
      await store.admit(sketchIntake('m2', effecting(leaving)), 'c')
      await store.admit(sketchIntake('m3', effecting(leaving)), 'c')
      expect(await followersOf(store)).toEqual(['bob'])
      expect(await store.countRelations({ via: 'a2a', agent: 'echo', relation: 'pending' })).toBe(1)
    }),
  )
  test(
    'a duplicate changes nothing',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', effecting(relate(ada))), 'c')
      await store.admit(sketchIntake('m2', effecting({ kind: 'unrelate', relation: 'follower', peer: ada })), 'c')
      expect(await store.admit(sketchIntake('m1', effecting(relate(ada))), 'c')).toMatchObject({ outcome: 'duplicate' })
      expect(await followersOf(store)).toEqual([])
    }),
  )
  test(
    'listRelations() gives the oldest first, page by page',
    withStore(openStore, async ({ store }) => {
      const peers = ['zoe', 'ada', 'bob']
      await store.admit(sketchIntake('m1', effecting(...peers.map(peer => relate(peer)))), 'c')
      const filter = { via: 'a2a', agent: 'echo', relation: 'follower', limit: 2 } as const
      const first = await store.listRelations(filter)
      expect(first.map(({ peer }) => peer)).toEqual(['zoe', 'ada'])
      const second = await store.listRelations({ ...filter, after: first.at(-1)?.number })
      expect(second.map(({ peer }) => peer)).toEqual(['bob'])
    }),
  )
  test(
    'listPeerRelations() lists one peer’s relations with all agents, also those stored under a digest',
    withStore(openStore, async ({ store }) => {
      const related = { ...effecting(relate(ada), relate('zoe')), agent: 'help' }
      await store.admit(sketchIntake('m1', effecting(relate(ada, 'blocked_by'))), 'c')
      await store.forgetPerson({ addresses: [{ via: 'a2a', address: '@ada@peer.test', subject: ada }] })
      await store.admit(sketchIntake('m2', related), 'c')
      const relations = await store.listPeerRelations({ via: 'a2a', peer: ada })
      expect(relations.map(({ agent, relation, peer }) => [agent, relation, peer])).toEqual([
        ['echo', 'blocked_by', ada],
        ['help', 'follower', ada],
      ])
      expect(await store.listPeerRelations({ via: 'email', peer: ada })).toEqual([])
    }),
  )
}

function describeDecisions(openStore: OpenStore): void {
  test(
    'the operator’s decision about a stored message takes effect for its agent, with deliveries',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', effecting(relate(ada, 'pending'))), 'c')
      const effects = [{ kind: 'unrelate', relation: 'pending', peer: ada } as const, relate(ada)]
      await store.decide(message, { effects, deliveries: [toDeliveryPlan('x')] })
      expect(await followersOf(store)).toEqual([ada])
      expect(await store.countRelations({ via: 'a2a', agent: 'echo', relation: 'pending' })).toBe(0)
      expect(await leaseDeliveries(store)).toMatchObject([{ to: 'x', agent: 'echo', message: { id: 'm1' } }])
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
}

/** Sketches a message of Ada's that waits for an answer. */
function fromAda(id: string, sketch: IntakeSketch = {}): IntakeSketch {
  return inThread('t', { ...sketch, authorship: { author: ada, object: `object of ${id}` } })
}

function toAda(to: string) {
  return { ...toDeliveryPlan(to), peer: ada }
}

function describeBlocks(openStore: OpenStore): void {
  const block = effecting(relate(ada, 'blocked_by'))
  test(
    'the store flags a blocking peer’s messages and starts no turn for them, until the block ends',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('block', block), 'c')
      await store.admit(sketchIntake('m1', fromAda('m1')), 'c')
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.findMessage('m1')).toMatchObject({ state: 'ignored', flags: ['blocked_by'] })
      const lift = effecting({ kind: 'unrelate', relation: 'blocked_by', peer: ada })
      await store.admit(sketchIntake('lift', lift), 'c')
      await store.admit(sketchIntake('m2', fromAda('m2')), 'c')
      expect((await leaseOnlyTurn(store)).content.id).toBe('m2')
    }),
  )
  test(
    'the store does not change a message without a turn, even from a blocking peer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('block', block), 'c')
      await store.admit(sketchIntake('m1', fromAda('m1', { disposition: 'keep', flags: ['read'] })), 'c')
      expect(await store.findMessage('m1')).toMatchObject({ state: 'ignored', flags: ['read'] })
    }),
  )
  test(
    'a block ends only the open turns for that peer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', fromAda('m1')), 'c')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.admit(sketchIntake('block', block), 'c')
      await expect(store.commit(turn, sketchAnswer(turn, 'too late'))).rejects.toMatchObject({ name: 'LeaseLost' })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'failed', error: 'canceled' })
      expect((await leaseOnlyTurn(store)).content.id).toBe('m2')
    }),
  )
  test(
    'a peer that blocks the agent gets nothing more, including waiting deliveries',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.commit(firstTurn, {
        ...sketchAnswer(firstTurn, 'hello'),
        deliveries: [toAda('x'), toDeliveryPlan('y')],
      })
      await store.admit(sketchIntake('block', block), 'c')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const secondTurn = await leaseOnlyTurn(store)
      await store.commit(secondTurn, {
        ...sketchAnswer(secondTurn, 'again'),
        deliveries: [toAda('x'), toDeliveryPlan('z')],
      })
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['y', 'z'])
      const dead = await store.listDeliveries({ limit: 9, state: 'dead' })
      expect(dead.map(({ to, last_error }) => [to, last_error])).toEqual([
        ['x', 'the recipient has blocked this agent'],
        ['x', 'the recipient has blocked this agent'],
      ])
      expect((await store.count()).deliveries).toMatchObject({ dead: 2, queued: 2 })
    }),
  )
  test(
    'a block covers one agent, and others still reach that peer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.commit(firstTurn, { ...sketchAnswer(firstTurn, 'hello'), deliveries: [toAda('x')] })
      await store.admit(sketchIntake('m2', fromAda('m2')), 'c')
      await store.admit(sketchIntake('block', { ...block, agent: 'help' }), 'c')
      await store.admit(sketchIntake('m3', fromAda('m3')), 'c')
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['x'])
      const secondTurn = await leaseOnlyTurn(store)
      await store.commit(secondTurn, sayNothing())
      expect([secondTurn.content.id, (await leaseOnlyTurn(store)).content.id]).toEqual(['m2', 'm3'])
    }),
  )
}

function describeReopening(openStore: OpenStore): void {
  test(
    'a peer may repeat an undone activity under its old id',
    withStore(openStore, async ({ store }) => {
      const authorship = { author: ada, object: 'follow 1' }
      const follow = sketchIntake('follow 1', { ...effecting(relate(ada)), authorship })
      const firstAdmission = await store.admit(follow, 'c')
      const undo = effecting({ kind: 'unrelate', relation: 'follower', peer: ada }, { kind: 'reopen', ...authorship })
      await store.admit(sketchIntake('undo 1', undo), 'c')
      const secondAdmission = await store.admit(follow, 'c')
      expect(secondAdmission.outcome).toBe('accepted')
      expect(secondAdmission.message).not.toBe(firstAdmission.message)
      expect(await followersOf(store)).toEqual([ada])
    }),
  )
  test(
    'nobody else can reopen an undone activity',
    withStore(openStore, async ({ store }) => {
      const follow = sketchIntake('follow 1', { authorship: { author: ada, object: 'follow 1' } })
      await store.admit(follow, 'c')
      const forgedFollow = effecting({ kind: 'reopen', author: 'mallory', object: 'follow 1' })
      await store.admit(sketchIntake('undo 1', forgedFollow), 'c')
      expect((await store.admit(follow, 'c')).outcome).toBe('duplicate')
    }),
  )
}

function describeListed(openStore: OpenStore): void {
  test(
    'the store counts public posts, and can list them alone',
    withStore(openStore, async ({ store }) => {
      const listedFlags = [true, false, true]
      for (const [index, isListed] of listedFlags.entries()) {
        await store.admit(sketchIntake(`m${index}`), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'hello', [], { isListed }))
      }
      await store.admit(sketchIntake('silent'), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      const ownScope = { agent: 'echo', via: 'a2a' } as const
      expect(await store.countListed(ownScope)).toBe(2)
      expect(await store.countListed({ ...ownScope, agent: 'help' })).toBe(0)
      const responses = await store.listResponses({ ...ownScope, isListed: true, limit: 9 })
      expect(responses.map(({ message }) => message.id)).toEqual(['m2', 'm0'])
      expect(await store.listResponses({ ...ownScope, limit: 9 })).toHaveLength(3)
    }),
  )
}
