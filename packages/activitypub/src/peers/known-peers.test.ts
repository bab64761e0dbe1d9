import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { testKey } from '../../test/keys.ts'
import { parseIri } from '../format/document.ts'
import { formatMultikey } from '../signature/public-keys.ts'
import { parseActor } from './actor-document.ts'
import { createActorCache } from './known-peers.ts'
import type { FetchedDocument } from './look-ups.ts'

const iri = parseIri('https://evil.test/users/mallory', 'its actor')
const long = `https://evil.test/${'a'.repeat(100_000)}`

test('parseActor() keeps no more of a document than thousands of actors may cost', () => {
  const actor = parseActor(
    {
      id: iri.href,
      preferredUsername: 'm'.repeat(100_000),
      name: 'n'.repeat(100_000),
      inbox: long,
      followers: long,
      url: long,
      endpoints: { sharedInbox: long },
      icon: { url: 'https://evil.test/i.png', mediaType: `image/${'p'.repeat(100_000)}` },
      publicKey: { id: long, owner: iri.href, publicKeyPem: testKey('mallory').publicPem },
    },
    iri,
  )
  expect(JSON.stringify({ ...actor, keys: [...actor.keys.keys()] }).length).toBeLessThan(10_000)
  expect(actor).toMatchObject({ inbox: undefined, sharedInbox: undefined, url: undefined })
})

test('parseActor() accepts keys that name this actor as their owner, or name none, and no others', () => {
  const publicKeyPem = testKey('mallory').publicPem
  const others = ['https://good.test/users/alice', 'https://evil.test/users/eve', 1, '']
  const listed = [iri.href, undefined, ...others].map((owner, at) => ({ id: `${iri.href}#${at}`, owner, publicKeyPem }))
  const { keys } = parseActor({ id: iri.href, publicKey: listed }, iri)
  expect([...keys.keys()]).toEqual([`${iri.href}#0`, `${iri.href}#1`])
})

test('parseActor() accepts Multikeys that this actor controls, on its own host, and no others', () => {
  const publicKeyMultibase = formatMultikey(generateKeyPairSync('ed25519').publicKey)
  const key = { id: `${iri.href}#0`, type: 'Multikey', controller: iri.href, publicKeyMultibase }
  const others = [
    { ...key, id: `${iri.href}#1`, controller: 'https://good.test/users/alice' },
    { ...key, id: `${iri.href}#2`, controller: undefined },
    { ...key, id: `${iri.href}#3`, type: 'Ed25519VerificationKey2020' },
    { ...key, id: 'https://good.test/users/alice#4' },
  ]
  const { keys, assertionKeys } = parseActor({ id: iri.href, assertionMethod: [key, ...others] }, iri)
  expect([...assertionKeys.keys()]).toEqual([key.id])
  expect([...keys.keys()]).toEqual([key.id])
})

test('createActorCache() keeps the actors that it knows, whatever number of unknown names callers look up', async () => {
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
