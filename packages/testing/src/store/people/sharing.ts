// Tests that linked addresses share one history.
import type { Json } from '@postern/message'
import { StateChanged } from '@postern/message'
import type { PersonIdentity, Turn } from '@postern/pipeline'
import { expect, test } from 'vitest'
import {
  account,
  ada,
  adasMail,
  converse,
  eveAccount,
  link,
  listPersonTexts,
  mailbox,
  sketchFrom,
} from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseOnlyTurn, leaseTurns, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

export function describeSharing(openStore: OpenStore): void {
  test(
    'the conversations of a person form one history in order of time, each with its channel',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2'))
      await converse(store, 'm3', sketchFrom(eveAccount, 'm3'))
      await converse(store, 'm4', sketchFrom(ada, 'm4', { thread: { scope: 'public' } }))
      await converse(store, 'm5', sketchFrom(ada, 'm5', { agent: 'help' }))
      const { message } = await converse(store, 'm6', sketchFrom(ada, 'm6'))
      expect(await listPersonTexts(store, message, ada, adasMail)).toEqual([
        'activitypub words of m1',
        'activitypub answer to m1',
        'email words of m2',
        'email answer to m2',
      ])
      expect(await listPersonTexts(store, 1_000_000, eveAccount)).toEqual([
        'activitypub words of m3',
        'activitypub answer to m3',
      ])
    }),
  )
  test(
    'case does not matter in a mailbox, but does in an account',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom({ ...adasMail, subject: 'mailto:Ada@mail.test' }, 'm1'))
      await converse(store, 'm2', sketchFrom({ ...ada, subject: 'https://social.test/Ada' }, 'm2'))
      expect(await listPersonTexts(store, 1_000_000, ada, adasMail)).toEqual([
        'email words of m1',
        'email answer to m1',
      ])
    }),
  )
  test(
    'the history omits the gateway’s own text, and the commands that it answers',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, { ...sketchAnswer(turn, 'a code'), isGatewayReply: true })
      expect(await listPersonTexts(store, 1_000_000, ada)).toEqual([])
      expect(await store.readHistory({ thread: turn.thread, beforeMessage: 1_000_000, head: 5, tail: 5 })).toEqual([])
    }),
  )
  test(
    'the history includes the present conversation, for any number of newer messages elsewhere',
    withStore(openStore, async ({ store }) => {
      const { thread, message } = await converse(store, 'old', sketchFrom(ada, 'old'))
      const newer = Array.from({ length: 200 }, (_, n) => sketchIntake(`m${n}`, sketchFrom(adasMail, `m${n}`)))
      await Promise.all(newer.map(intake => store.admit(intake, 'c')))
      const scopes = [
        { via: ada.via, scope: ada.subject },
        { via: adasMail.via, scope: 'v:ada@mail.test' },
      ]
      const request = { agent: 'echo', scopes, beforeMessage: message + 1, head: 1, tail: 9 }
      expect(await store.readPersonHistory({ ...request, thread })).toMatchObject([{ nativeId: 'old' }, {}])
    }),
  )
  test(
    'a reader gets both ends without duplicates',
    withStore(openStore, async ({ store }) => {
      for (let n = 0; n < 9; n += 1) await converse(store, `m${n}`, sketchFrom(n % 2 ? ada : adasMail, `m${n}`))
      const texts = await listPersonTexts(store, 1_000_000, ada, adasMail)
      expect(texts.slice(0, 3)).toEqual(['email words of m0', 'email answer to m0', 'email words of m4'])
      expect(texts.at(-1)).toBe('email answer to m8')
      expect(texts).toHaveLength(12)
    }),
  )
  test(
    'the store writes a person’s state with the answer, keeps it when links grow, and deletes it with them',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const storeState = async (id: string, state: string) => {
        await store.admit(sketchIntake(id, sketchFrom(ada, id)), 'c')
        const turn = await leaseOnlyTurn(store)
        const person = (await store.findPerson('echo', ada))?.id ?? 'nobody'
        await store.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state } })
      }
      const readState = async (identity: PersonIdentity) =>
        store.readPersonState('echo', (await store.findPerson('echo', identity))?.id ?? '')
      await storeState('m1', 'likes tea')
      expect(await readState(adasMail)).toBe('likes tea')
      await link(store, ada, account('aaa'))
      expect(await readState(account('aaa'))).toBe('likes tea')
      await store.unlink({ agent: 'echo', identity: ada, other: account('aaa') })
      expect(await readState(ada)).toBeUndefined()
    }),
  )
  test(
    'the store refuses an answer that computed the person’s state from an outdated one',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const person = (await store.findPerson('echo', ada))?.id ?? 'nobody'
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      await store.admit(sketchIntake('m2', sketchFrom(adasMail, 'm2')), 'c')
      const [first, second] = await leaseTurns(store)
      if (!first || !second) throw new Error('expected two turns')
      const answer = (turn: Turn, stateBefore: Json | undefined, state: Json) => ({
        ...sketchAnswer(turn, 'noted'),
        personState: { person, state, replaces: { state: stateBefore } },
      })
      await store.commit(first, answer(first, undefined, ['one']))
      await expect(store.commit(second, answer(second, undefined, ['two']))).rejects.toThrow(StateChanged)
      expect(await store.findMessage('m2')).toMatchObject({ state: 'working' })
      expect(await store.readPersonState('echo', person)).toEqual(['one'])
      await store.commit(second, answer(second, ['one'], ['one', 'two']))
      expect(await store.readPersonState('echo', person)).toEqual(['one', 'two'])
      expect(await store.findMessage('m2')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'the asker’s state survives when two people join',
    withStore(openStore, async ({ store }) => {
      const putState = async (id: string, identity: PersonIdentity) => {
        await store.admit(sketchIntake(id, sketchFrom(identity, id)), 'c')
        const turn = await leaseOnlyTurn(store)
        const person = (await store.findPerson('echo', identity))?.id ?? 'nobody'
        await store.commit(turn, {
          ...sketchAnswer(turn, 'noted'),
          personState: { person, state: `of ${identity.address}` },
        })
      }
      await link(store, eveAccount, mailbox('eve'))
      await link(store, ada, adasMail)
      await putState('m1', eveAccount)
      await putState('m2', ada)
      await link(store, eveAccount, ada)
      const person = await store.findPerson('echo', adasMail)
      expect(await store.readPersonState('echo', person?.id ?? '')).toBe(`of ${eveAccount.address}`)
    }),
  )
  test(
    'an asker without a state gets the other person’s state',
    withStore(openStore, async ({ store }) => {
      await link(store, eveAccount, mailbox('eve'))
      await store.admit(sketchIntake('m1', sketchFrom(eveAccount, 'm1')), 'c')
      const turn = await leaseOnlyTurn(store)
      const person = (await store.findPerson('echo', eveAccount))?.id ?? 'nobody'
      await store.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state: 'likes tea' } })
      await link(store, ada, eveAccount)
      const personId = (await store.findPerson('echo', ada))?.id ?? 'nobody'
      expect(personId).not.toBe(person)
      expect(await store.readPersonState('echo', personId)).toBe('likes tea')
    }),
  )
  test(
    'the store drops a late state if the person’s link ends before',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const person = (await store.findPerson('echo', ada))?.id ?? ''
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.unlink({ agent: 'echo', identity: ada, other: adasMail })
      await store.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state: 1 } })
      expect(await store.readPersonState('echo', person)).toBeUndefined()
    }),
  )
}
