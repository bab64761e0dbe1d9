import type { Desk, OwnThreads, PersonIdentity } from '@postern/core'
import { expect, test } from 'vitest'
import { account, ada, adasMail, converse, eve, from } from './people-sketches.ts'
import type { IntakeSketch, OpenDesk } from './under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake, withDesk } from './under-test.ts'

const chat: PersonIdentity = { via: 'web', address: '@ada@web.agents.test', subject: 'web:["https://id.test","ada"]' }
const whose: OwnThreads = {
  agent: 'echo',
  scopes: [
    { via: 'web', scope: chat.subject },
    { via: 'activitypub', scope: ada.subject },
    { via: 'email', scope: 'v:ADA@mail.test' },
  ],
  subjects: [chat.subject, ada.subject, adasMail.subject],
}
const inPublic = (identity: PersonIdentity, id: string, rest: IntakeSketch = {}) =>
  from(identity, id, { ...rest, thread: { scope: 'public', begunBy: identity.subject, ...rest.thread } })

/** What is said in a chat, as part of a conversation of another channel. */
const inChat = (id: string, thread: number, first = 'm1', rest: IntakeSketch = {}) =>
  from(chat, id, {
    ...rest,
    authorship: { author: chat.subject, object: id },
    thread: { scope: chat.subject, joined: { id: thread, via: 'activitypub', key: `thread of ${first}` } },
  })

const listOwn = async (desk: Desk, more: object = {}) =>
  (await desk.listOwnThreads({ ...whose, limit: 10, ...more })).threads.map(({ via, beginning, isShared }) => {
    return `${via} ${beginning}${isShared ? ' (shared)' : ''}`
  })

const recall = async (desk: Desk, thread: number, reader?: string) =>
  (await desk.readHistory({ thread, before: 1_000_000, head: 0, tail: 10, speakers: reader ? [reader] : [] })).map(
    ({ parts }) => (parts[0]?.kind === 'text' ? parts[0].content : ''),
  )

export function describeOwnThreads(open: OpenDesk): void {
  test(
    'somebody’s own are those of him alone, whatever the channel, and what he began where others take part; the newest first',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from(adasMail, 'm2'))
      await converse(desk, 'm3', from(eve, 'm3'))
      await converse(desk, 'm4', inPublic(ada, 'm4'))
      await converse(desk, 'm5', inPublic(eve, 'm5'))
      await converse(desk, 'm6', from(ada, 'm6', { agent: 'help' }))
      expect(await listOwn(desk)).toEqual([
        'activitypub words of m4 (shared)',
        'email words of m2',
        'activitypub words of m1',
      ])
      const { next } = await desk.listOwnThreads({ ...whose, limit: 1 })
      expect(await listOwn(desk, { before: next })).toEqual(['email words of m2', 'activitypub words of m1'])
    }),
  )
  test(
    'nobody finds a thread by its number that is not his',
    withDesk(open, async ({ desk }) => {
      const { thread } = await converse(desk, 'm1', from(ada, 'm1'))
      expect(await desk.findOwnThread(whose, thread)).toMatchObject({ id: thread, via: 'activitypub', isShared: false })
      const eves = { ...whose, scopes: [{ via: 'activitypub', scope: eve.subject }], subjects: [eve.subject] } as const
      for (const other of [eves, { ...whose, agent: 'help' }, { ...whose, scopes: [], subjects: [] }]) {
        expect(await desk.findOwnThread(other, thread)).toBeUndefined()
        expect(await desk.readLastTarget(other, thread)).toBeUndefined()
      }
      for (const number of [thread + 1, -1, 0.5, Number.NaN])
        expect(await desk.findOwnThread(whose, number)).toBeUndefined()
    }),
  )
  test(
    'what is said in a chat is part of the conversation it joins, and answered by its channel',
    withDesk(open, async ({ desk }) => {
      const { thread } = await converse(desk, 'm1', from(ada, 'm1', { target: { place: 1 } }))
      await desk.admit(sketchIntake('c1', inChat('c1', thread)), 'c')
      const turn = await leaseOnlyTurn(desk)
      expect(turn).toMatchObject({ thread, via: 'activitypub', content: { received_via: 'web' } })
      await desk.commit(turn, sketchAnswer(turn, 'answer to c1'))
      expect(await recall(desk, thread, chat.subject)).toEqual([
        ...['words of m1', 'answer to m1', 'words of c1', 'answer to c1'],
      ])
      expect(await desk.readLastTarget(whose, thread)).toEqual({ place: 1 })
      const gone = sketchIntake('c2', inChat('c2', thread + 1))
      const another = sketchIntake('c3', inChat('c3', thread, 'whose number it was'))
      for (const lost of [gone, another]) {
        await expect(desk.admit(lost, 'c')).rejects.toMatchObject({
          code: 'no_recipient',
          message: 'Cannot take message: its conversation is gone',
        })
      }
    }),
  )
  test(
    'what was said in a chat is recalled for him who said it alone, whoever takes part',
    withDesk(open, async ({ desk }) => {
      for (const place of [inPublic, from]) {
        const first = `m ${place.name}`
        const { thread } = await converse(desk, first, place(ada, first))
        await converse(desk, `c ${place.name}`, inChat('c1', thread, first))
        const own = await recall(desk, thread, chat.subject)
        expect(own).toEqual(expect.arrayContaining([`words of c ${place.name}`, `answer to c ${place.name}`]))
        for (const other of [undefined, 'web:["https://id.test","eve"]']) {
          expect(await recall(desk, thread, other)).toEqual([
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
    'a task that is to be new is opened once',
    withDesk(open, async ({ desk }) => {
      const task = { owner: chat.subject, id: 'run-1', context: 't', isNew: true } as const
      await desk.admit(sketchIntake('m1', from(chat, 'm1', { task })), 'c')
      await expect(desk.admit(sketchIntake('m2', from(chat, 'm2', { task })), 'c')).rejects.toMatchObject({
        code: 'replayed',
        message: 'Cannot open task: there is one of this id',
      })
    }),
  )
  test(
    'who is forgotten has begun nothing',
    withDesk(open, async ({ desk }) => {
      const { thread } = await converse(desk, 'm1', inPublic(ada, 'm1'))
      await converse(desk, 'm2', inPublic(account('bea'), 'm2', { thread: { references: ['m1'] } }))
      await converse(desk, 'c1', inChat('c1', thread))
      await desk.forgetPerson({ addresses: [ada, chat] })
      expect(await listOwn(desk)).toEqual([])
      expect(await recall(desk, thread, chat.subject)).toEqual(['words of m2', 'answer to m2'])
    }),
  )
}
