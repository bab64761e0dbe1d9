import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { testKey } from '../../test/keys.ts'
import { parseIri } from '../format/iri.ts'
import { formatMultikey } from '../signature/public-keys.ts'
import { parseActor } from './actor-document.ts'

const id = 'https://peer.test/users/ann'
const iri = { href: id, host: 'peer.test', origin: 'https://peer.test' } as Parameters<typeof parseActor>[1]
const read = (members: object) => parseActor({ id, type: 'Person', ...members }, iri)

test('an actor keeps at most twenty other accounts, of 512 characters each', () => {
  const alias = (length: number, n = 0) => `https://old.test/${n}`.padEnd(length, 'x')
  expect([...read({ alsoKnownAs: [alias(512), alias(513)] }).aliases]).toEqual([alias(512)])
  const many = Array.from({ length: 25 }, (_, n) => alias(40, n))
  expect([...read({ alsoKnownAs: many }).aliases]).toEqual(many.slice(0, 20))
})

test('an actor keeps at most eight keys, of its own and on its own origin', () => {
  const publicKeyPem = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({
    type: 'spki',
    format: 'pem',
  })
  const key = (name: string, owner: string | undefined = id) => ({ id: name, owner, publicKeyPem })
  const own = Array.from({ length: 9 }, (_, n) => `${id}#${n}`)
  expect([...read({ publicKey: own.map(name => key(name)) }).keys.keys()]).toEqual(own.slice(0, 8))
  const foreign = [
    key('https://other.test/key'),
    key('https://peer.test.other.test/key'),
    key(`${id}#other`, 'https://peer.test/users/bob'),
    { ...key(`${id}#none`), publicKeyPem: 'none' },
  ]
  expect([...read({ publicKey: [...foreign, key(`${id}#main`)] }).keys.keys()]).toEqual([`${id}#main`])
})

test('an actor keeps a shared inbox only on its own origin, and a name without markup', () => {
  const shared = (url: string) => read({ endpoints: { sharedInbox: url } }).sharedInbox
  expect([shared('https://peer.test/inbox'), shared('https://other.test/inbox')]).toEqual([
    'https://peer.test/inbox',
    undefined,
  ])
  const names = ['ann', 'a', 'a.b-c', `a${'b'.repeat(63)}`, '.ann', 'ann.', `a${'b'.repeat(64)}`, 'аnn', 'ann\u202e']
  expect(names.map(preferredUsername => read({ preferredUsername }).username)).toEqual([
    ...names.slice(0, 4),
    ...Array(5).fill(undefined),
  ])
})

test.each([{ id: 'https://peer.test/users/bob' }, { id: `${id}/` }, { id: undefined }])(
  'a document with the id $id is not that actor’s',
  members => {
    expect(() => read(members)).toThrow('Cannot read actor: the document is of another actor')
  },
)

const mallory = parseIri('https://evil.test/users/mallory', 'its actor')
const long = `https://evil.test/${'a'.repeat(100_000)}`

test('parseActor() keeps only as much of a document as memory for thousands of actors allows', () => {
  const actor = parseActor(
    {
      id: mallory.href,
      preferredUsername: 'm'.repeat(100_000),
      name: 'n'.repeat(100_000),
      inbox: long,
      followers: long,
      url: long,
      endpoints: { sharedInbox: long },
      icon: { url: 'https://evil.test/i.png', mediaType: `image/${'p'.repeat(100_000)}` },
      publicKey: { id: long, owner: mallory.href, publicKeyPem: testKey('mallory').publicPem },
    },
    mallory,
  )
  expect(JSON.stringify({ ...actor, keys: [...actor.keys.keys()] }).length).toBeLessThan(10_000)
  expect(actor).toMatchObject({ inbox: undefined, sharedInbox: undefined, url: undefined })
})

test('parseActor() accepts only keys that name this actor as their owner, or no owner', () => {
  const publicKeyPem = testKey('mallory').publicPem
  const otherKeys = ['https://good.test/users/alice', 'https://evil.test/users/eve', 1, '']
  const listed = [mallory.href, undefined, ...otherKeys].map((owner, at) => ({
    id: `${mallory.href}#${at}`,
    owner,
    publicKeyPem,
  }))
  const { keys } = parseActor({ id: mallory.href, publicKey: listed }, mallory)
  expect([...keys.keys()]).toEqual([`${mallory.href}#0`, `${mallory.href}#1`])
})

test('parseActor() accepts only Multikeys that this actor controls on its own host', () => {
  const publicKeyMultibase = formatMultikey(generateKeyPairSync('ed25519').publicKey)
  const key = { id: `${mallory.href}#0`, type: 'Multikey', controller: mallory.href, publicKeyMultibase }
  const otherMethods = [
    { ...key, id: `${mallory.href}#1`, controller: 'https://good.test/users/alice' },
    { ...key, id: `${mallory.href}#2`, controller: undefined },
    { ...key, id: `${mallory.href}#3`, type: 'Ed25519VerificationKey2020' },
    { ...key, id: 'https://good.test/users/alice#4' },
  ]
  const { keys, assertionKeys } = parseActor({ id: mallory.href, assertionMethod: [key, ...otherMethods] }, mallory)
  expect([...assertionKeys.keys()]).toEqual([key.id])
  expect([...keys.keys()]).toEqual([key.id])
})
