// Tests that agents learn of links and their ends, in the same transaction.
import type { Intake, LinkChange, LinkNotifications, Person, Store } from '@postern/pipeline'
import { expect, test } from 'vitest'
import {
  account,
  ada,
  adasMail,
  confirm,
  eveAccount,
  link,
  mailbox,
  sketchFrom,
  sketchRequest,
} from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseTurns, sketchIntake, withStore } from '../setup/under-test.ts'

/** Collects the changes, and describes them as messages of the account. The store may describe a change again when it retries a transaction. */
function collectChanges() {
  const changes = new Map<string, LinkChange>()
  const events: LinkNotifications = {
    correlationId: 'c',
    describe(change): Intake {
      changes.set(change.kind, change)
      return sketchIntake(`told ${change.kind}`, sketchFrom(ada, `told ${change.kind}`))
    },
  }
  return { changes, events }
}

const readFounder = async (store: Store, identity: typeof ada) =>
  (await store.findPerson('echo', identity))?.founder.address

const listAddresses = (persons: readonly Person[]) =>
  persons.map(({ founder, addresses }) => [founder.address, addresses.map(({ address }) => address)])

export function describeLinkedEvents(openStore: OpenStore): void {
  test(
    'a person keeps the asker’s key, in any order of addresses',
    withStore(openStore, async ({ store }) => {
      await link(store, eveAccount, adasMail)
      expect(await readFounder(store, adasMail)).toBe(eveAccount.address)
      await link(store, eveAccount, account('aaa'))
      expect(await readFounder(store, account('aaa'))).toBe(eveAccount.address)
      await link(store, mailbox('zoe'), adasMail)
      for (const identity of [eveAccount, adasMail, mailbox('zoe')]) {
        expect(await readFounder(store, identity)).toBe('@zoe@mail.test')
      }
    }),
  )
  test(
    'a link and its end queue messages with the persons before and after',
    withStore(openStore, async ({ store }) => {
      const { changes, events } = collectChanges()
      const request = sketchRequest(ada, adasMail)
      await store.requestLink(request)
      await confirm(store, request, { events })
      const joinedAddresses = [[ada.address, [ada.address, adasMail.address]]]
      const separateAddresses = [ada, adasMail].map(({ address }) => [address, [address]])
      const linked = changes.get('link')
      expect([listAddresses(linked?.personsBefore ?? []), listAddresses(linked?.personsAfter ?? [])]).toEqual([
        separateAddresses,
        joinedAddresses,
      ])
      expect(linked?.personsBefore.map(({ founder }) => founder.subject)).toEqual([ada.subject, adasMail.subject])
      expect(await leaseTurns(store)).toMatchObject([{ content: { id: 'told link' } }])
      await store.unlink({ agent: 'echo', identity: adasMail, other: ada, events })
      const unlinkChange = changes.get('unlink')
      expect([
        listAddresses(unlinkChange?.personsBefore ?? []),
        listAddresses(unlinkChange?.personsAfter ?? []),
      ]).toEqual([joinedAddresses, separateAddresses])
      expect(unlinkChange?.personsAfter.map(({ founder }) => founder.subject)).toEqual([ada.subject, adasMail.subject])
    }),
  )
  test(
    'a repeated link, a wrong code and an unlink by strangers queue nothing',
    withStore(openStore, async ({ store }) => {
      const { changes, events } = collectChanges()
      const request = sketchRequest(ada, adasMail)
      await store.requestLink(request)
      await confirm(store, request, { digest: 'wrong', events })
      await confirm(store, request, { message: 7 })
      await confirm(store, request, { message: 7, events })
      await store.unlink({ agent: 'echo', identity: ada, other: eveAccount, events })
      expect(changes.size).toBe(0)
    }),
  )
}
