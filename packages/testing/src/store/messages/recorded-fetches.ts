// Tests that a store keeps the answers of network lookups for replays, until their withdrawal.
import type { Lookup, Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import { withStore } from '../setup/under-test.ts'

const ada = 'https://peer.test/ada'
const postId = 'https://peer.test/notes/1'
const key = `GET */* ${postId}`
const shownLookup: Pick<Lookup, 'owner' | 'object'> = { owner: ada, object: postId }

export function pastLookupContract(openStore: OpenStore): void {
  describe('recorded fetches', () => {
    describeTimes(openStore)
    describeWithdrawals(openStore)
    describeForgotten(openStore)
  })
}

function recordLookup(store: Store, lookup: Partial<Lookup> = {}): void {
  store.noteLookup({ key, at: 1_000, answer: { says: 'words' }, ...lookup })
}

const findLookup = (store: Store, lookupKey = key) => store.findLookup(lookupKey, 9_000)

function forgetPost(store: Store, author = ada): Promise<void> {
  return store.withdraw('activitypub', [{ kind: 'forget', author, object: postId }])
}

function describeTimes(openStore: OpenStore): void {
  test(
    'a replay finds each fetched answer from its time until the next one',
    withStore(openStore, async ({ store }) => {
      recordLookup(store)
      recordLookup(store, { at: 2_000, answer: { says: 'other words' } })
      expect(await store.findLookup(key, 999)).toBeUndefined()
      expect(await store.findLookup(key, 1_999)).toEqual({ says: 'words' })
      expect(await store.findLookup(key, 2_000)).toEqual({ says: 'other words' })
    }),
  )
  test(
    'several simultaneous callers find the new answer',
    withStore(openStore, async ({ store }) => {
      recordLookup(store)
      const targets = await Promise.all([findLookup(store), findLookup(store), findLookup(store)])
      expect(targets).toEqual([1, 2, 3].map(() => ({ says: 'words' })))
    }),
  )
}

function describeWithdrawals(openStore: OpenStore): void {
  test(
    'only the author’s withdrawal of a post removes fetched answers with it',
    withStore(openStore, async ({ store }) => {
      recordLookup(store, shownLookup)
      recordLookup(store, { key: 'activity', ...shownLookup })
      recordLookup(store, { key: 'further', owner: ada, object: 'https://peer.test/notes/2' })
      recordLookup(store, { key: 'actor', owner: ada })
      await forgetPost(store, 'https://other.test/eve')
      expect(await findLookup(store)).toEqual({ says: 'words' })
      await forgetPost(store)
      const remaining = await Promise.all(
        [key, 'activity', 'further', 'actor'].map(lookupKey => findLookup(store, lookupKey)),
      )
      expect(remaining).toEqual([undefined, undefined, { says: 'words' }, { says: 'words' }])
    }),
  )
  test(
    'the store drops an answer that arrives during or after its post’s withdrawal',
    withStore(openStore, async ({ store }) => {
      recordLookup(store, shownLookup)
      await forgetPost(store)
      expect(await findLookup(store)).toBeUndefined()
      recordLookup(store, { ...shownLookup, at: 2_000 })
      expect(await findLookup(store)).toBeUndefined()
    }),
  )
}

function describeForgotten(openStore: OpenStore): void {
  test(
    'forgetting a person removes their fetched answers, also running ones, but not later ones',
    withStore(openStore, async ({ store }) => {
      const addresses = [{ via: 'activitypub', address: '@ada@peer.test', subject: ada }]
      recordLookup(store, shownLookup)
      recordLookup(store, { key: 'bob', owner: 'https://peer.test/bob' })
      await findLookup(store)
      recordLookup(store, { key: 'late', owner: ada })
      await store.forgetPerson({ addresses })
      const remaining = await Promise.all([key, 'late', 'bob'].map(lookupKey => findLookup(store, lookupKey)))
      expect(remaining).toEqual([undefined, undefined, { says: 'words' }])
      recordLookup(store, shownLookup)
      expect(await findLookup(store)).toEqual({ says: 'words' })
    }),
  )
  test(
    'the store deletes fetched answers of a deleted actor',
    withStore(openStore, async ({ store }) => {
      recordLookup(store, shownLookup)
      await findLookup(store)
      await store.withdraw('activitypub', [{ kind: 'forget_peer', peer: ada }])
      expect(await findLookup(store)).toBeUndefined()
    }),
  )
}
