import { expect, test } from 'vitest'
import { testKey } from '../../test/keys.ts'
import { parseIri } from '../format/iri.ts'
import { createActorCache } from './actor-cache.ts'
import type { FetchedDocument } from './fetched-document.ts'

test('createActorCache() keeps known actors despite many unknown names', async () => {
  let time = 0
  const requestedUrls: string[] = []
  const alice = 'https://good.test/users/alice'
  const actors = createActorCache({
    async fetchDocument(iri): Promise<FetchedDocument> {
      requestedUrls.push(iri)
      return iri === alice ? { state: 'found', document: { id: alice } } : { state: 'missing' }
    },
    documents: { fetch: async () => ({ state: 'missing' }), showsEverything: () => false, recordHostMode: () => {} },
    now: () => time,
  })
  await actors.find(parseIri(alice, 'alice'))
  for (let at = 0; at < 6_000; at += 1) {
    time += 1_000
    expect(await actors.find(parseIri(`https://forged.test/users/${at}`, 'nobody'))).toBeUndefined()
  }
  expect(await actors.find(parseIri(alice, 'alice'))).toMatchObject({ id: alice })
  expect(requestedUrls.filter(iri => iri === alice)).toEqual([alice])
})

test('createActorCache() refuses unknown keys when it cannot fetch, and returns keys of known actors', async () => {
  let time = 0
  const alice = 'https://good.test/users/alice'
  const { publicPem: publicKeyPem } = testKey('alice')
  const document = { id: alice, publicKey: { id: `${alice}#main-key`, owner: alice, publicKeyPem } }
  const actors = createActorCache({
    fetchDocument: async (iri): Promise<FetchedDocument> =>
      iri === alice ? { state: 'found', document } : { state: 'missing' },
    documents: { fetch: async () => ({ state: 'missing' }), showsEverything: () => false, recordHostMode: () => {} },
    now: () => time,
  })
  await actors.find(parseIri(alice, 'alice'))
  const refused = expect.objectContaining({ code: 'rate_limited' })
  const unknown = 'https://forged.test/users/nobody#main-key'
  actors.checkKey(unknown)
  for (let at = 0; at < 299; at += 1) await actors.find(parseIri(`https://forged.test/users/${at}`, 'nobody'))
  expect(() => actors.checkKey(unknown)).toThrow(refused)
  expect(() => actors.checkKey('no address')).toThrow(refused)
  actors.checkKey(`${alice}#main-key`)
  time += 1_000
  actors.checkKey(unknown)
})
