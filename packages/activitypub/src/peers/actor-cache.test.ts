import { expect, test } from 'vitest'
import { parseIri } from '../format/iri.ts'
import { createActorCache } from './actor-cache.ts'
import type { FetchedDocument } from './fetched-document.ts'

test('createActorCache() keeps known actors, however many unknown names callers look up', async () => {
  let time = 0
  const asked: string[] = []
  const alice = 'https://good.test/users/alice'
  const actors = createActorCache({
    async fetchDocument(iri): Promise<FetchedDocument> {
      asked.push(iri)
      return iri === alice ? { state: 'found', document: { id: alice } } : { state: 'missing' }
    },
    documents: { fetch: async () => ({ state: 'missing' }), isOpen: () => false, learn: () => {} },
    now: () => time,
  })
  await actors.find(parseIri(alice, 'alice'))
  for (let at = 0; at < 6_000; at += 1) {
    time += 1_000
    expect(await actors.find(parseIri(`https://forged.test/users/${at}`, 'nobody'))).toBeUndefined()
  }
  expect(await actors.find(parseIri(alice, 'alice'))).toMatchObject({ id: alice })
  expect(asked.filter(iri => iri === alice)).toEqual([alice])
})
