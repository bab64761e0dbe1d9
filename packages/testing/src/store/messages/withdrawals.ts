// Tests that a store forgets the content of withdrawn messages.
import { createHash } from 'node:crypto'
import type { Authorship, Store } from '@postern/pipeline'
import { withdrawalMemoryMs } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  leaseTurns,
  sketchAnswer,
  sketchIntake,
  toDeliveryPlan,
  withStore,
} from '../setup/under-test.ts'

export function withdrawalContract(openStore: OpenStore): void {
  describe('withdrawals', () => {
    describeForgetting(openStore)
    describeBytes(openStore)
    describeLateMessages(openStore)
    describePeers(openStore)
    describeAuthored(openStore)
  })
}

const ada = 'https://peer.test/ada'
const note: Authorship = { author: ada, object: 'https://peer.test/notes/1' }

function byAda(sketch: IntakeSketch = {}, object = note.object): IntakeSketch {
  return { ...sketch, authorship: { author: ada, object } }
}

function forget(store: Store, authorship: Authorship = note): Promise<void> {
  return store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
}

function describeForgetting(openStore: OpenStore): void {
  test(
    'a withdrawn message keeps its ids without content, and its duplicate still counts as one',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', byAda()), 'c')
      await forget(store)
      const record = await store.findMessage('m1')
      expect(record).toMatchObject({ number: message, message: { id: 'm1', parts: [] }, flags: ['deleted'] })
      expect(record?.message.raw).toBeUndefined()
      expect(record?.message.sender).toEqual({ address: '@ada@peer.test', auth_method: 'none', verified: false })
      expect(JSON.stringify(await store.listMessages({ limit: 9 }))).not.toContain('words of')
      expect(await store.admit(sketchIntake('m1', byAda()), 'c')).toEqual({ outcome: 'duplicate', message })
      expect(JSON.stringify(await store.findMessage('m1'))).not.toContain('words of')
    }),
  )
  test(
    'the store cancels a withdrawn message’s open turn under any worker, and its thread continues',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', inThread('t', byAda())), 'c')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      const notices: unknown[] = []
      store.listen(`message:${message}`, notice => notices.push(notice))
      await forget(store)
      expect(notices).toEqual([{ kind: 'deleted' }])
      await expect(store.commit(turn, sketchAnswer(turn, 'late'))).rejects.toMatchObject({ name: 'LeaseLost' })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'failed', error: 'canceled' })
      const next = await leaseOnlyTurn(store)
      expect(next.content.id).toBe('m2')
      expect(await store.readHistory({ thread: next.thread, beforeMessage: next.message, head: 0, tail: 9 })).toEqual(
        [],
      )
      expect((await store.count()).messages).toMatchObject({ failed: 1, working: 1, received: 0 })
    }),
  )
  test(
    'a withdrawal cancels waiting deliveries of the answer, and keeps the record of sent ones',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', byAda()), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', ['x', 'y']))
      const sentDelivery = (await leaseDeliveries(store)).find(({ to }) => to === 'x')
      if (sentDelivery) await store.settle(sentDelivery, { state: 'sent' })
      await forget(store)
      const record = await store.findMessage('m1')
      expect(record?.deliveries).toMatchObject([
        { to: 'x', state: 'sent' },
        { to: 'y', state: 'dead', last_error: 'what it answers was taken back by its author' },
      ])
      expect(record?.response).toMatchObject({ parts: [{ content: 'hello' }] })
    }),
  )
  test(
    'a withdrawal removes a message and its edits for every agent, but no message of another author',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', byAda()), 'c')
      await store.admit(sketchIntake('edit', byAda({ message: { kind: 'edit' } })), 'c')
      await store.admit(sketchIntake('m1 to help', byAda({ agent: 'help' })), 'c')
      await store.admit(sketchIntake('other', byAda({}, 'another note')), 'c')
      await store.admit(sketchIntake('forged', { authorship: { ...note, author: 'mallory' } }), 'c')
      await forget(store)
      expect((await leaseTurns(store)).map(({ content }) => content.id).sort()).toEqual(['forged', 'other'])
    }),
  )
  test(
    'a withdrawal by somebody else, or for another channel, has no effect',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', byAda()), 'c')
      await forget(store, { ...note, author: 'mallory' })
      await store.withdraw('activitypub', [{ kind: 'forget', ...note }])
      expect(await store.findMessage('m1')).toMatchObject({ state: 'received', flags: [] })
    }),
  )
  test(
    'histories show only text, without events',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      await store.admit(sketchIntake('like', { message: { thread_source: 't', kind: 'reaction' } }), 'c')
      await store.admit(sketchIntake('edit', { message: { thread_source: 't', kind: 'edit' } }), 'c')
      const { message } = await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const [turn] = await leaseTurns(store)
      const history = await store.readHistory({ thread: turn?.thread ?? 0, beforeMessage: message, head: 0, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m1', 'edit'])
    }),
  )
}

function describeBytes(openStore: OpenStore): void {
  const blobOf = (text: string) => {
    const bytes = new TextEncoder().encode(text)
    return { digest: createHash('sha256').update(bytes).digest('hex'), bytes, mime: 'text/plain' }
  }
  test(
    'bytes disappear with the last message that needs them',
    withStore(openStore, async ({ store }) => {
      const [sharedBlob, ownBlob] = [blobOf('shared'), blobOf('own')]
      await store.admit(sketchIntake('m1', byAda({ blobs: [sharedBlob, ownBlob] })), 'c')
      await store.admit(sketchIntake('m2', byAda({ blobs: [sharedBlob] }, 'second')), 'c')
      await forget(store)
      expect(await store.findBlob(ownBlob.digest)).toBeUndefined()
      expect(await store.findBlob(sharedBlob.digest)).toBeDefined()
      await forget(store, { author: ada, object: 'second' })
      expect(await store.findBlob(sharedBlob.digest)).toBeUndefined()
    }),
  )
  test(
    'large raw bytes disappear too',
    withStore(openStore, async ({ store }) => {
      const bytes = new TextEncoder().encode(JSON.stringify('x'.repeat(200_000)))
      const raw = { bytes, form: 'json' } as const
      await store.admit(sketchIntake('m1', byAda({ raw })), 'c')
      await store.admit(sketchIntake('m1 to help', byAda({ raw, agent: 'help' })), 'c')
      const digest = createHash('sha256').update(bytes).digest('hex')
      await forget(store)
      expect((await store.findMessage('m1'))?.message.raw).toBeUndefined()
      expect(await store.findBlob(digest)).toBeUndefined()
    }),
  )
}

function describeLateMessages(openStore: OpenStore): void {
  test.each(['answer', 'keep'] as const)(
    'a message to %s that arrives after its withdrawal leaves only its ids, without a turn',
    disposition =>
      withStore(openStore, async ({ store }) => {
        await forget(store)
        const lateIntake = sketchIntake('m1', byAda({ disposition, deliveries: [toDeliveryPlan('x')] }))
        expect(await store.admit(lateIntake, 'c')).toMatchObject({ outcome: 'accepted' })
        const record = await store.findMessage('m1')
        expect(record).toMatchObject({ state: 'ignored', flags: ['deleted'], message: { parts: [] }, deliveries: [] })
        expect(record?.message.raw).toBeUndefined()
        expect(await leaseTurns(store)).toEqual([])
        expect((await store.admit(lateIntake, 'c')).outcome).toBe('duplicate')
      })(),
  )
  test(
    'a withdrawal waits 48 hours, only for its own author’s message',
    withStore(openStore, async ({ store, advance }) => {
      await forget(store)
      await store.admit(sketchIntake('other', { authorship: { ...note, author: 'bob' } }), 'c')
      expect(await store.findMessage('other')).toMatchObject({ state: 'received' })
      advance(withdrawalMemoryMs - 1)
      await store.admit(sketchIntake('m1', byAda()), 'c')
      expect(await store.findMessage('m1')).toMatchObject({ state: 'ignored' })
      advance(1)
      await store.admit(sketchIntake('m2', byAda()), 'c')
      expect(await store.findMessage('m2')).toMatchObject({ state: 'received' })
    }),
  )
}

function describePeers(openStore: OpenStore): void {
  test(
    'a deleted peer leaves no messages, relations or waiting deliveries',
    withStore(openStore, async ({ store }) => {
      const relate = { kind: 'relate', relation: 'follower', peer: ada, target: null } as const
      await store.admit(sketchIntake('m1', byAda({ effects: [relate] })), 'c')
      await store.admit(sketchIntake('m2', byAda({ agent: 'help', effects: [relate] }, 'second')), 'c')
      await store.admit(sketchIntake('m3'), 'c')
      const turn = (await leaseTurns(store)).find(({ content }) => content.id === 'm3')
      if (turn) {
        const deliveries = [{ ...toDeliveryPlan('x'), peer: ada }, toDeliveryPlan('y')]
        await store.commit(turn, { ...sketchAnswer(turn, 'hello'), deliveries })
      }
      const elsewhere = { effects: [relate], message: { received_via: 'activitypub' as const } }
      await store.admit(sketchIntake('m4', byAda(elsewhere, 'third')), 'c')
      await store.withdraw('a2a', [{ kind: 'forget_peer', peer: ada }])
      expect(await store.countRelations({ via: 'activitypub', agent: 'echo', relation: 'follower' })).toBe(1)
      for (const id of ['m1', 'm2']) {
        expect(await store.findMessage(id)).toMatchObject({
          state: 'failed',
          flags: ['deleted'],
          message: { parts: [] },
        })
      }
      for (const agent of ['echo', 'help']) {
        expect(await store.countRelations({ via: 'a2a', agent, relation: 'follower' })).toBe(0)
      }
      expect((await leaseOnlyDelivery(store)).to).toBe('y')
      const [dead] = await store.listDeliveries({ limit: 9, state: 'dead' })
      expect(dead).toMatchObject({ to: 'x', last_error: 'the recipient is gone' })
    }),
  )
  test(
    'the end of a peer’s relations removes its follows in both directions, but not its text and block',
    withStore(openStore, async ({ store }) => {
      const relations = ['follower', 'pending', 'following', 'blocked_by'] as const
      for (const peer of [ada, 'https://peer.test/bob']) {
        const effects = relations.map(relation => ({ kind: 'relate', relation, peer, target: null }) as const)
        await store.admit(sketchIntake(`of ${peer}`, { authorship: { author: peer, object: peer }, effects }), 'c')
      }
      await store.withdraw('a2a', [{ kind: 'end_relations', peer: ada }])
      const related = await Promise.all(
        relations.map(relation => store.listRelations({ via: 'a2a', agent: 'echo', relation, limit: 9 })),
      )
      expect(related.map(list => list.length)).toEqual([1, 1, 1, 2])
      expect(await store.countRelations({ via: 'a2a', agent: 'echo', relation: 'follower' })).toBe(1)
      expect(await store.findMessage(`of ${ada}`)).toMatchObject({ flags: [] })
      expect(JSON.stringify(await store.findMessage(`of ${ada}`))).toContain('words of')
    }),
  )
  test(
    'the store withdraws all messages of a deleted peer, in any number',
    withStore(openStore, async ({ store }) => {
      const ids = Array.from({ length: 450 }, (_, index) => `m${index}`)
      await Promise.all(ids.map(id => store.admit(sketchIntake(id, byAda({}, id)), 'c')))
      await store.withdraw('a2a', [{ kind: 'forget_peer', peer: ada }])
      expect((await store.count()).messages).toMatchObject({ received: 0, failed: 450 })
      expect(JSON.stringify(await store.listMessages({ limit: 450 }))).not.toContain('words of')
    }),
  )
}

function describeAuthored(openStore: OpenStore): void {
  test(
    'findAuthored() returns the messages that the author may change, for each agent, until their withdrawal',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', inThread('t', byAda())), 'c')
      await store.admit(
        sketchIntake('m1 to help', byAda({ agent: 'help', message: { kind: 'edit' }, disposition: 'keep' })),
        'c',
      )
      const [first, second] = await store.findAuthored('a2a', note)
      const authored = {
        ...note,
        message,
        agent: 'echo',
        id: 'm1',
        kind: 'message',
        thread_source: 't',
        scope: 'public',
      }
      expect(first).toEqual({ ...authored, target: { answerTo: 'm1' }, isKept: false })
      expect(second).toMatchObject({ agent: 'help', kind: 'edit', isKept: true })
      expect(await store.findAuthored('a2a', { ...note, author: 'bob' })).toEqual([])
      expect(await store.findAuthored('email', note)).toEqual([])
      await forget(store)
      expect(await store.findAuthored('a2a', note)).toEqual([])
    }),
  )
}
