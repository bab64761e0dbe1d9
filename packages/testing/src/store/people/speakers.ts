// Tests that a store finds the persons who spoke to an agent, and the conversations that are theirs alone.
import type { PersonAddress } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { ada, adasMail, converse, eveAccount, link, sketchFrom } from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { withStore } from '../setup/under-test.ts'

export function describeSpoken(openStore: OpenStore): void {
  test(
    'findPersonMessages() lists messages from all linked addresses, with conversations of the person alone',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2'))
      await converse(
        store,
        'm3',
        sketchFrom(ada, 'm3', { thread: { scope: 'public' }, message: { thread_source: 'all' } }),
      )
      await converse(
        store,
        'm4',
        sketchFrom(eveAccount, 'm4', { thread: { scope: 'public' }, message: { thread_source: 'all' } }),
      )
      await converse(store, 'm5', sketchFrom(ada, 'm5', { agent: 'help' }))
      await link(store, ada, adasMail)
      const { persons, messages } = await store.findPersonMessages({ agent: 'echo', addresses: [adasMail] })
      expect(persons.map(({ agent, founder, addresses }) => [agent, founder.address, addresses.length])).toEqual([
        ['echo', ada.address, 2],
      ])
      expect(messages.map(({ via, sender, thread }) => [via, sender.address, thread !== undefined])).toEqual([
        [ada.via, ada.address, true],
        [adasMail.via, adasMail.address, true],
        [ada.via, ada.address, false],
      ])
      expect((await store.findPersonMessages({ addresses: [ada] })).messages.map(({ agent }) => agent)).toContain(
        'help',
      )
      expect(await store.findPersonMessages({ agent: 'help', addresses: [adasMail] })).toEqual({
        persons: [],
        messages: [],
      })
    }),
  )
  test(
    'findPersonMessages() omits another account that now has the address',
    withStore(openStore, async ({ store }) => {
      const now = { ...ada, subject: 'https://social.test/users/2' }
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom(now, 'm2', { message: { thread_source: 'of another' } }))
      const listSpeakers = async (person: PersonAddress) =>
        (await store.findPersonMessages({ addresses: [person] })).messages.length
      expect(await listSpeakers(ada)).toBe(1)
      expect(await listSpeakers(now)).toBe(1)
      expect(await listSpeakers({ via: ada.via, address: ada.address })).toBe(2)
    }),
  )
}
