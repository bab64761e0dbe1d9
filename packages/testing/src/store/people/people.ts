// Tests how a store links the addresses of one person by codes.
import type { LinkRequest, PersonIdentity } from '@postern/pipeline'
import { linkLimits } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import {
  account,
  ada,
  adasMail,
  addressesOf,
  confirm,
  eveAccount,
  link,
  mailbox,
  sketchRequest,
} from '../setup/people-sketches.ts'
import type { OpenStore, StoreUnderTest } from '../setup/under-test.ts'
import { withStore } from '../setup/under-test.ts'
import { describeForgetting } from './forgetting.ts'
import { describeLinkEnding } from './link-ending.ts'
import { describeLinkedEvents } from './linked-events.ts'
import { describeOwnThreads } from './own-threads.ts'
import { describeSharing } from './sharing.ts'
import { describeSpoken } from './speakers.ts'
export function peopleContract(openStore: OpenStore): void {
  describe('people', () => {
    describeCodes(openStore)
    describeCeiling(openStore)
    describeLinks(openStore)
    describeLinkEnding(openStore)
    describeLinkedEvents(openStore)
    describeSharing(openStore)
    describeForgetting(openStore)
    describeSpoken(openStore)
    describeOwnThreads(openStore)
  })
}

function describeCodes(openStore: OpenStore): void {
  const attempt = (name: string, check: (storeSetup: StoreUnderTest, request: LinkRequest) => Promise<void>) =>
    test(
      name,
      withStore(openStore, async storeSetup => {
        const request = sketchRequest(ada, adasMail)
        expect(await storeSetup.store.requestLink(request)).toEqual({ outcome: 'sent', notice: request.notice })
        await check(storeSetup, request)
      }),
    )

  attempt('a code links once; the same message may bring it again', async ({ store }, request) => {
    expect(await confirm(store, request, { message: 7, notice: 'told 1' })).toEqual({
      outcome: 'linked',
      target: { via: 'email', address: '@ada@mail.test' },
      notice: 'told 1',
    })
    expect(await confirm(store, request, { message: 7 })).toMatchObject({ outcome: 'linked', notice: 'told 1' })
    expect(await confirm(store, request, { message: 8 })).toEqual({ outcome: 'none' })
    expect(await store.listLinks({ limit: 10 })).toMatchObject([
      { agent: 'echo', asked: request.message, confirmed: 7 },
    ])
  })
  attempt('asked again for the same message, the first notice stands', async ({ store }, request) => {
    expect(await store.requestLink({ ...request, notice: 'another' })).toEqual({
      outcome: 'sent',
      notice: request.notice,
    })
  })
  attempt('it counts for the address alone that asked, and for its agent', async ({ store }, request) => {
    expect(await confirm(store, { ...request, asker: eveAccount })).toEqual({ outcome: 'none' })
    expect(await confirm(store, { ...request, asker: adasMail })).toEqual({ outcome: 'none' })
    expect(await confirm(store, { ...request, agent: 'help' })).toEqual({ outcome: 'none' })
    expect(await confirm(store, request)).toMatchObject({ outcome: 'linked' })
  })
  attempt('a code of another request is a wrong one', async ({ store }, request) => {
    const otherRequest = sketchRequest(eveAccount, mailbox('eve'))
    await store.requestLink(otherRequest)
    expect(await confirm(store, { ...request, digest: otherRequest.digest })).toEqual({
      outcome: 'wrong',
      attemptsLeft: 4,
    })
    expect(await addressesOf(store, ada)).toEqual([])
  })
  attempt('after five wrong ones the right one is dead, too', async ({ store }, request) => {
    const guesses = await Promise.all([1, 2, 3, 4, 5].map(n => confirm(store, { ...request, digest: `guess ${n}` })))
    expect(guesses.map(guess => 'attemptsLeft' in guess && guess.attemptsLeft)).toEqual([4, 3, 2, 1, 0])
    expect(await confirm(store, request)).toEqual({ outcome: 'none' })
  })
  attempt('its time is over after fifteen minutes', async ({ store, advance }, request) => {
    advance(15 * 60_000)
    expect(await confirm(store, request)).toEqual({ outcome: 'none' })
  })
  attempt('it counts to the last moment of fifteen minutes', async ({ store, advance }, request) => {
    advance(15 * 60_000 - 1)
    expect(await confirm(store, request)).toMatchObject({ outcome: 'linked' })
  })
  attempt('a newer one for the same address takes its place', async ({ store }, request) => {
    const newer = sketchRequest(ada, adasMail)
    await store.requestLink(newer)
    expect(await confirm(store, request)).toEqual({ outcome: 'wrong', attemptsLeft: 4 })
    expect(await confirm(store, newer)).toMatchObject({ outcome: 'linked' })
  })
  attempt('a newer one for another address leaves it as it is', async ({ store }, request) => {
    const otherRequest = sketchRequest(ada, mailbox('other'))
    await store.requestLink(otherRequest)
    expect(await confirm(store, request)).toMatchObject({ outcome: 'linked' })
    expect(await confirm(store, otherRequest)).toMatchObject({ outcome: 'linked' })
  })
  attempt('two who bring it at once get one link', async ({ store }, request) => {
    const outcomes = await Promise.all([confirm(store, request), confirm(store, request)])
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['linked', 'none'])
  })
  attempt('somebody else who has got the name of the account meanwhile cannot use it', async ({ store }, request) => {
    expect(await confirm(store, { ...request, asker: { ...ada, subject: 'https://social.test/2' } })).toEqual({
      outcome: 'none',
    })
  })

  test(
    'one address gets at most three codes a day, for any person and agent',
    withStore(openStore, async ({ store, advance }) => {
      const victim = mailbox('victim')
      const requestFrom = (name: string, agent: string) =>
        store.requestLink(sketchRequest(account(name), victim, { agent }))
      for (const [name, agent] of [
        ['a', 'echo'],
        ['b', 'help'],
        ['c', 'echo'],
      ] as const)
        expect(await requestFrom(name, agent)).toMatchObject({ outcome: 'sent' })
      expect(await requestFrom('d', 'other')).toEqual({ outcome: 'refused', reason: 'sent_too_often' })
      const tagged = { ...victim, address: '@victim+1@mail.test', subject: 'mailto:victim+1@mail.test' }
      expect(await store.requestLink(sketchRequest(account('e'), tagged))).toMatchObject({ reason: 'sent_too_often' })
      advance(24 * 3_600_000)
      expect(await requestFrom('d', 'other')).toMatchObject({ outcome: 'sent' })
    }),
  )
  test(
    'one person can request five codes an hour, and their host a hundred a day',
    withStore(openStore, async ({ store, advance }) => {
      const requestFrom = (asker: PersonIdentity, n: number) =>
        store.requestLink(sketchRequest(asker, mailbox(`m${n}`)))
      for (let n = 0; n < 5; n += 1) expect(await requestFrom(eveAccount, n)).toMatchObject({ outcome: 'sent' })
      expect(await requestFrom(eveAccount, 5)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      for (let n = 5; n < linkLimits.requestsPerHostPerDay; n += 1)
        expect(await requestFrom(account(`eve${n}`), n)).toMatchObject({ outcome: 'sent' })
      advance(2 * 3_600_000)
      expect(await requestFrom(account('eve100'), 100)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      expect(await requestFrom(mailbox('honest'), 101)).toMatchObject({ outcome: 'sent' })
    }),
  )
  test(
    'a person who says "forget me" keeps their code count, which the operator’s erasure ends',
    withStore(openStore, async ({ store }) => {
      const requestNth = (n: number) => store.requestLink(sketchRequest(eveAccount, mailbox(`m${n}`)))
      for (let n = 0; n < 5; n += 1) expect(await requestNth(n)).toMatchObject({ outcome: 'sent' })
      const forget = (except?: number) =>
        store.forgetPerson({ agent: 'echo', addresses: [eveAccount], exceptMessage: except })
      for (const except of [9_001, 9_002]) {
        await forget(except)
        expect(await requestNth(5)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      }
      await forget()
      expect(await requestNth(6)).toMatchObject({ outcome: 'sent' })
    }),
  )
}

function describeCeiling(openStore: OpenStore): void {
  test(
    'five hundred codes leave per day in all, for any number of servers',
    withStore(openStore, async ({ store, advance }) => {
      const requestNth = (n: number) => {
        const asker = { via: 'activitypub', address: `@a@s${n}.test`, subject: `https://s${n}.test/a` } as const
        return store.requestLink(sketchRequest(asker, mailbox(`m${n}`)))
      }
      const outcomes = await Promise.all(Array.from({ length: linkLimits.codesPerDay }, (_, n) => requestNth(n)))
      expect(outcomes.every(({ outcome }) => outcome === 'sent')).toBe(true)
      expect(await requestNth(1000)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      advance(24 * 3_600_000)
      expect(await requestNth(1000)).toMatchObject({ outcome: 'sent' })
    }),
  )
}

function describeLinks(openStore: OpenStore): void {
  test(
    'linked addresses are one person for that agent, whichever address writes',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const addresses = ['activitypub @ada@social.test', 'email @ada@mail.test']
      expect(await addressesOf(store, ada)).toEqual(addresses)
      expect(await addressesOf(store, adasMail)).toEqual(addresses)
      expect(await addressesOf(store, ada, 'help')).toEqual([])
      expect(await store.requestLink(sketchRequest(adasMail, ada))).toEqual({ outcome: 'refused', reason: 'linked' })
    }),
  )
  test(
    'a new owner of a linked address is not that person',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const successor = { ...ada, subject: 'https://social.test/another-ada' }
      expect(await addressesOf(store, successor)).toEqual([])
      expect(await store.unlink({ agent: 'echo', identity: successor, other: adasMail })).toBe(false)
      expect(await addressesOf(store, adasMail)).toHaveLength(2)
    }),
  )
  test(
    'a new owner of an account who links a mailbox does not get the former owner’s addresses',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const successor = { ...ada, subject: 'https://social.test/another-ada' }
      await link(store, successor, mailbox('eve'))
      const addresses = ['activitypub @ada@social.test', 'email @eve@mail.test']
      expect(await addressesOf(store, successor)).toEqual(addresses)
      expect(await addressesOf(store, mailbox('eve'))).toEqual(addresses)
      expect(await addressesOf(store, adasMail)).toEqual([])
      expect(await addressesOf(store, ada)).toEqual([])
    }),
  )
  test(
    'a new owner whom somebody else links does not get the former owner’s addresses',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await link(store, eveAccount, { ...ada, subject: 'https://social.test/another-ada' })
      expect(await addressesOf(store, eveAccount)).toEqual([
        'activitypub @ada@social.test',
        'activitypub @eve@social.test',
      ])
      expect(await addressesOf(store, adasMail)).toEqual([])
    }),
  )
  test(
    'an unused address belongs to the first person who writes from it',
    withStore(openStore, async ({ store }) => {
      const { subject: _, ...unknown } = account('late')
      await link(store, adasMail, unknown)
      expect(await addressesOf(store, account('late'))).toHaveLength(2)
      expect(await addressesOf(store, { ...account('late'), subject: 'https://social.test/x' })).toEqual([])
    }),
  )
  test(
    'a chain of links splits when its middle disappears',
    withStore(openStore, async ({ store }) => {
      const [middleAddress, lastAddress] = [adasMail, mailbox('third')]
      await link(store, ada, middleAddress)
      await link(store, middleAddress, lastAddress)
      expect(await addressesOf(store, ada)).toHaveLength(3)
      expect(await store.unlink({ agent: 'echo', identity: lastAddress, other: eveAccount })).toBe(false)
      expect(await store.unlink({ agent: 'echo', identity: ada, other: middleAddress })).toBe(true)
      for (const identity of [ada, middleAddress, lastAddress]) expect(await addressesOf(store, identity)).toEqual([])
      expect(await store.unlink({ agent: 'echo', identity: ada, other: middleAddress })).toBe(false)
      expect(await store.listLinks({ limit: 10 })).toEqual([])
    }),
  )
  test(
    'a person has at most eight addresses, added at either end',
    withStore(openStore, async ({ store, advance }) => {
      for (let n = 1; n < linkLimits.maxAddresses; n += 1) {
        await link(store, ada, mailbox(`a${n}`))
        advance(3_600_000)
      }
      expect(await store.requestLink(sketchRequest(ada, eveAccount))).toEqual({ outcome: 'refused', reason: 'full' })
      const early = sketchRequest(eveAccount, mailbox('e1'))
      await store.requestLink(early)
      expect(await store.requestLink(sketchRequest(mailbox('a3'), mailbox('e1')))).toEqual({
        outcome: 'refused',
        reason: 'full',
      })
    }),
  )
  test(
    'the store lists links in pages',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await link(store, eveAccount, mailbox('eve'), 'help')
      const [first] = await store.listLinks({ limit: 1 })
      expect(await store.listLinks({ limit: 1, after: first?.number })).toMatchObject([{ agent: 'help' }])
      expect(await store.listLinks({ agent: 'echo', limit: 10 })).toEqual([first])
    }),
  )
}
