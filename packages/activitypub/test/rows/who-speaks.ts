import { expect } from 'vitest'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row } from './row.ts'
import { refused, taken, titlesOf } from './row.ts'

const titles = (...names: readonly string[]) => titlesOf('who-speaks', ...names)

async function expectAddress({ stored }: Stage, address: string): Promise<void> {
  expect((await stored())[0]?.message.sender.address).toBe(address)
}

/** After an attack the honest one is still believed, and the attacker's key still says nothing of her. */
async function expectUnpoisoned({ gateway, alice, mallory }: Stage): Promise<void> {
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  expect(await postActivity(gateway, alice, composeNote(alice), { key: mallory.key })).toMatchObject({ status: 401 })
}

export const whoSpeaks: readonly Row[] = [
  {
    row: 'AP-01',
    title: 'a key document elsewhere names the victim as its owner',
    cases: [
      {
        title: 'on the attacker’s host',
        send({ gateway, peer, alice, mallory }) {
          const keyId = 'https://evil.test/keys/1'
          peer.serve(keyId, { body: { id: keyId, owner: alice.id, publicKeyPem: mallory.key.publicPem } })
          return postActivity(gateway, mallory, composeNote(alice), { keyId })
        },
        expect: { ...refused, code: 'signer_mismatch', fetches: 0 },
        after: expectUnpoisoned,
      },
      {
        title: 'as `controller`, uploaded to the victim’s host',
        send({ gateway, peer, alice, mallory }) {
          const keyId = 'https://good.test/uploads/key'
          peer.serve(keyId, { body: { id: keyId, controller: alice.id, publicKeyPem: mallory.key.publicPem } })
          return postActivity(gateway, mallory, composeNote(alice), { keyId })
        },
        expect: { ...refused, code: 'signer_mismatch', fetches: 2 },
        after: expectUnpoisoned,
      },
    ],
    shownBy: titles(
      'AP-01: a key document on another host that names the victim as its owner proves nothing',
      'AP-01: a key the actor’s own document does not list does not speak for it, even from its own host',
    ),
  },
  {
    row: 'AP-02',
    title: 'a valid signature of mallory under the name of alice',
    cases: [
      {
        title: 'on another host',
        send: ({ gateway, alice, mallory }) => postActivity(gateway, alice, composeNote(alice), { signer: mallory }),
        expect: { ...refused, code: 'signer_mismatch', fetches: 0 },
      },
    ],
    shownBy: titles('AP-02: a neighbour on the same host cannot speak for the actor'),
  },
  {
    row: 'AP-03',
    title: 'a key under another id than the one that signs',
    cases: [
      {
        title: 'to poison what is remembered',
        send({ gateway, peer, alice, mallory }) {
          const keys = [{ id: alice.keyId, owner: alice.id, publicKeyPem: mallory.key.publicPem }]
          peer.serve(mallory.id, { body: { ...mallory.document, publicKey: keys } })
          return postActivity(gateway, mallory, composeNote(mallory))
        },
        expect: { ...refused, code: 'signer_mismatch', fetches: 2 },
        after: expectUnpoisoned,
      },
    ],
    shownBy: titles('AP-03: a key entry under another id than the one that signs is not the key'),
  },
  {
    row: 'AP-04',
    title: 'a key id that is an account name',
    cases: [
      {
        title: 'acct:',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice), { keyId: 'acct:alice@good.test' }),
        expect: { ...refused, code: 'signer_mismatch', fetches: 0 },
      },
    ],
  },
  {
    row: 'AP-05',
    title: 'an actor document with the id of another host',
    cases: [
      {
        title: 'served by the attacker',
        send({ gateway, peer, alice, mallory }) {
          const publicKey = { id: mallory.keyId, owner: alice.id, publicKeyPem: mallory.key.publicPem }
          peer.serve(mallory.id, { body: { ...alice.document, publicKey } })
          return postActivity(gateway, mallory, composeNote(mallory))
        },
        expect: { ...refused, code: 'signature_invalid', fetches: 1 },
        after: expectUnpoisoned,
      },
    ],
    shownBy: titles(
      'AP-05: an actor document with the id of another host is no actor, and nothing is kept for the victim',
    ),
  },
  {
    row: 'AP-06',
    title: 'an actor document of a type that files have',
    cases: [
      'text/html',
      'text/plain',
      'application/json',
      'application/ld+json',
      'application/ld+json; profile="https://www.w3.org/ns/other"',
    ].map(type => ({
      title: type,
      send({ gateway, peer, alice }: Stage) {
        peer.serve(alice.id, { type, body: alice.document })
        return postActivity(gateway, alice, composeNote(alice))
      },
      expect: { ...refused, code: 'signature_invalid', fetches: 1 },
    })),
    shownBy: titles('AP-06: an actor document served as %s counts'),
  },
  {
    row: 'AP-07',
    title: 'an actor that is several, or embedded under another id',
    cases: [
      {
        title: 'two',
        send: ({ gateway, alice, mallory }) =>
          postActivity(gateway, alice, composeNote(alice, {}, { actor: [alice.id, mallory.id] })),
        expect: { status: 400, code: 'malformed', turns: 0, fetches: 0 },
      },
      {
        title: 'embedded',
        send: ({ gateway, alice, mallory }) =>
          postActivity(gateway, alice, composeNote(alice, {}, { actor: { id: mallory.id, type: 'Person' } })),
        expect: { status: 400, code: 'malformed', turns: 0, fetches: 0 },
      },
    ],
    shownBy: titles('AP-07: an embedded actor that is the signer is read by its id'),
  },
  {
    row: 'AP-08',
    title: 'an activity with an id on another host',
    cases: [
      {
        title: 'than its actor’s',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice, {}, { id: 'https://evil.test/1' })),
        expect: { ...refused, code: 'signer_mismatch', fetches: 0 },
      },
    ],
  },
  {
    row: 'AP-09',
    title: 'a created object that is somebody else’s',
    cases: [{ attributedTo: 'https://evil.test/users/mallory' }, { id: 'https://evil.test/notes/1' }].map(note => ({
      title: Object.keys(note).join(),
      send: ({ gateway, alice }: Stage) => postActivity(gateway, alice, composeNote(alice, note)),
      expect: { ...refused, code: 'signer_mismatch', fetches: 0 },
    })),
    shownBy: titles('AP-09: a created object that %s is refused'),
  },
  {
    row: 'AP-10',
    title: 'tricks with the host',
    cases: [
      {
        title: 'user-info',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice, {}, { id: 'https://good.test@evil.test/1' })),
        expect: { status: 400, code: 'malformed', turns: 0, fetches: 0 },
      },
      {
        title: 'another spelling of the same',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice, {}, { id: 'https://GOOD.test:443/1' })),
        expect: taken,
      },
    ],
    shownBy: titles('AP-10: an id with %s is another place', 'AP-10: %s is the same place in another spelling'),
  },
  {
    row: 'AP-11',
    title: 'a name nobody confirms',
    cases: [
      {
        title: 'with bidi controls',
        send({ gateway, peer }) {
          const document = { preferredUsername: 'alice\u202egro.knab' }
          const alice = settlePerson(peer, 'alice@good.test', { document })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: taken,
        after: stage => expectAddress(stage, '@~unconfirmed@good.test'),
      },
      {
        title: 'whose answer is about another user',
        send({ gateway, peer, alice }) {
          const links = [{ rel: 'self', type: 'application/activity+json', href: alice.id }]
          const jrd = { subject: 'acct:bob@good.test', links }
          peer.serve('https://good.test/.well-known/webfinger', { type: 'application/jrd+json', body: jrd })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: taken,
        after: stage => expectAddress(stage, '@~unconfirmed@good.test'),
      },
    ],
    shownBy: titles('AP-11: a name with %s is withheld; the evidence still names the actor'),
  },
  {
    row: 'AP-12',
    title: 'an activity without an id',
    cases: [
      {
        title: 'none at all',
        send: ({ gateway, alice }) => postActivity(gateway, alice, composeNote(alice, {}, { id: undefined })),
        expect: { status: 400, code: 'malformed', turns: 0, fetches: 0 },
      },
    ],
  },
]
