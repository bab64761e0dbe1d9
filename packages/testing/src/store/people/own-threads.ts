// Tests which conversations a store lists as a person's own.
import type { OwnThreadFilter, PersonIdentity, Store } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { account, ada, adasMail, converse, eveAccount, sketchFrom } from '../setup/people-sketches.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

const chat: PersonIdentity = { via: 'web', address: '@ada@web.agents.test', subject: 'web:["https://id.test","ada"]' }
const ownThreads: OwnThreadFilter = {
  agent: 'echo',
  scopes: [
    { via: 'web', scope: chat.subject },
    { via: 'activitypub', scope: ada.subject },
    { via: 'email', scope: 'v:ADA@mail.test' },
  ],
  subjects: [chat.subject, ada.subject, adasMail.subject],
}
const inPublic = (identity: PersonIdentity, id: string, sketch: IntakeSketch = {}) =>
  sketchFrom(identity, id, { ...sketch, thread: { scope: 'public', begunBy: identity.subject, ...sketch.thread } })

/** Sketches a message in a chat, as part of a conversation of another channel. */
const inChat = (id: string, thread: number, first = 'm1', sketch: IntakeSketch = {}) =>
  sketchFrom(chat, id, {
    ...sketch,
    authorship: { author: chat.subject, object: id },
    thread: { scope: chat.subject, joined: { id: thread, via: 'activitypub', key: `thread of ${first}` } },
  })

const listOwn = async (store: Store, options: object = {}) =>
  (await store.listOwnThreads({ ...ownThreads, limit: 10, ...options })).threads.map(({ via, beginning, isShared }) => {
    return `${via} ${beginning}${isShared ? ' (shared)' : ''}`
  })

const recall = async (store: Store, thread: number, reader?: string) =>
  (
    await store.readHistory({ thread, beforeMessage: 1_000_000, head: 0, tail: 10, speakers: reader ? [reader] : [] })
  ).map(({ parts }) => (parts[0]?.kind === 'text' ? parts[0].content : ''))

export function describeOwnThreads(openStore: OpenStore): void {
  test(
    'a person’s threads are private in any channel, and include those they began with others, newest first',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2'))
      await converse(store, 'm3', sketchFrom(eveAccount, 'm3'))
      await converse(store, 'm4', inPublic(ada, 'm4'))
      await converse(store, 'm5', inPublic(eveAccount, 'm5'))
      await converse(store, 'm6', sketchFrom(ada, 'm6', { agent: 'help' }))
      expect(await listOwn(store)).toEqual([
        'activitypub words of m4 (shared)',
        'email words of m2',
        'activitypub words of m1',
      ])
      const { next } = await store.listOwnThreads({ ...ownThreads, limit: 1 })
      expect(await listOwn(store, { before: next })).toEqual(['email words of m2', 'activitypub words of m1'])
    }),
  )
  test(
    'a reply to forgotten chat text does not join its former conversation',
    withStore(openStore, async ({ store }) => {
      const { thread } = await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', inChat('m2', thread))
      expect(await store.forgetPerson({ agent: 'echo', addresses: [chat] })).toMatchObject({ messages: 1 })
      const reply = sketchFrom(chat, 'm3', { thread: { scope: chat.subject, references: ['m2'] } })
      expect((await converse(store, 'm3', reply)).thread).not.toBe(thread)
      expect(await recall(store, thread)).toEqual(['words of m1', 'answer to m1'])
    }),
  )
  test(
    'nobody finds another person’s thread by its number',
    withStore(openStore, async ({ store }) => {
      const { thread } = await converse(store, 'm1', sketchFrom(ada, 'm1'))
      expect(await store.findOwnThread(ownThreads, thread)).toMatchObject({
        id: thread,
        via: 'activitypub',
        isShared: false,
      })
      const eves = {
        ...ownThreads,
        scopes: [{ via: 'activitypub', scope: eveAccount.subject }],
        subjects: [eveAccount.subject],
      } as const
      for (const otherQuery of [eves, { ...ownThreads, agent: 'help' }, { ...ownThreads, scopes: [], subjects: [] }]) {
        expect(await store.findOwnThread(otherQuery, thread)).toBeUndefined()
        expect(await store.readLastTarget(otherQuery, thread)).toBeUndefined()
      }
      for (const threadNumber of [thread + 1, -1, 0.5, Number.NaN])
        expect(await store.findOwnThread(ownThreads, threadNumber)).toBeUndefined()
    }),
  )
  test(
    'chat messages belong to the joined conversation, and its channel delivers their answers',
    withStore(openStore, async ({ store }) => {
      const { thread } = await converse(store, 'm1', sketchFrom(ada, 'm1', { target: { peer: 1 } }))
      await store.admit(sketchIntake('c1', inChat('c1', thread)), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ thread, via: 'activitypub', content: { received_via: 'web' } })
      await store.commit(turn, sketchAnswer(turn, 'answer to c1'))
      expect(await recall(store, thread, chat.subject)).toEqual([
        ...['words of m1', 'answer to m1', 'words of c1', 'answer to c1'],
      ])
      expect(await store.readLastTarget(ownThreads, thread)).toEqual({ peer: 1 })
      const withdrawnIntake = sketchIntake('c2', inChat('c2', thread + 1))
      const another = sketchIntake('c3', inChat('c3', thread, 'whose number it was'))
      for (const lostIntake of [withdrawnIntake, another]) {
        await expect(store.admit(lostIntake, 'c')).rejects.toMatchObject({
          code: 'no_recipient',
          message: 'Cannot take message: its conversation is gone',
        })
      }
    }),
  )
  test(
    'histories show chat text only to its author, and others get a placeholder',
    withStore(openStore, async ({ store }) => {
      for (const sketch of [inPublic, sketchFrom]) {
        const first = `m ${sketch.name}`
        const { thread } = await converse(store, first, sketch(ada, first))
        await converse(store, `c ${sketch.name}`, inChat('c1', thread, first))
        const ownEntries = await recall(store, thread, chat.subject)
        expect(ownEntries).toEqual(expect.arrayContaining([`words of c ${sketch.name}`, `answer to c ${sketch.name}`]))
        for (const subject of [undefined, 'web:["https://id.test","eve"]']) {
          expect(await recall(store, thread, subject)).toEqual([
            `words of ${first}`,
            `answer to ${first}`,
            '[said in a chat, not before everybody]',
            '[answered, not before everybody]',
          ])
        }
      }
    }),
  )
  test(
    'a message for a new task opens it once, and the store refuses the next one',
    withStore(openStore, async ({ store }) => {
      const task = { owner: chat.subject, id: 'run-1', context: 't', isNew: true } as const
      await store.admit(sketchIntake('m1', sketchFrom(chat, 'm1', { task })), 'c')
      await expect(store.admit(sketchIntake('m2', sketchFrom(chat, 'm2', { task })), 'c')).rejects.toMatchObject({
        code: 'replayed',
        message: 'Cannot open task: there is one of this id',
      })
    }),
  )
  test(
    'a forgotten person has begun no threads',
    withStore(openStore, async ({ store }) => {
      const { thread } = await converse(store, 'm1', inPublic(ada, 'm1'))
      await converse(store, 'm2', inPublic(account('bea'), 'm2', { thread: { references: ['m1'] } }))
      await converse(store, 'c1', inChat('c1', thread))
      await store.forgetPerson({ addresses: [ada, chat] })
      expect(await listOwn(store)).toEqual([])
      expect(await recall(store, thread, chat.subject)).toEqual(['words of m2', 'answer to m2'])
    }),
  )
}
