import { expect } from 'vitest'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { taken, titlesOf } from './row.ts'
import { as, malformed, noteWith, unsigned } from './send.ts'

const bodies = (...names: readonly string[]) => titlesOf('bodies', ...names)

/** Writes down every host that anybody wants to ask, also in vain. */
function watchHosts(): Pick<RowCase, 'options' | 'after'> {
  const asked = new Set<string>()
  return {
    options: {
      watchFetch: fetch => (url, init) => {
        asked.add(new URL(url).host)
        return fetch(url, init)
      },
    },
    async after() {
      expect([...asked]).toEqual(['good.test'])
    },
  }
}

const deep = `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`

const strange = { '@context': [as, 'https://evil.test/context.jsonld'] }

const down = {
  '@context': [as, 'https://w3id.org/security/v1', 'https://purl.archive.org/miscellany', 'https://codeberg.org/ns'],
}

export const json: readonly Row[] = [
  {
    row: 'AP-45',
    title: 'a body of 2 MiB',
    cases: [
      {
        title: 'without a length',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, { ...composeNote(alice), padding: 'x'.repeat(2 ** 21) }),
        expect: { status: 413, code: 'too_large', turns: 0, fetches: 0 },
      },
      {
        title: 'unsigned, with one',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice), {
            isUnsigned: true,
            headers: { 'content-length': String(2 ** 21) },
          }),
        expect: { status: 413, code: 'too_large', turns: 0, fetches: 0 },
      },
    ],
    shownBy: bodies('AP-45: a body of 2 MiB is 413, whether its length is declared or not'),
  },
  {
    row: 'AP-46',
    title: '3 000 objects inside each other',
    cases: [
      {
        title: 'unsigned',
        send: ({ gateway, alice }) => postActivity(gateway, alice, deep, { isUnsigned: true }),
        expect: unsigned,
      },
      { title: 'signed', send: ({ gateway, alice }) => postActivity(gateway, alice, deep), expect: malformed },
    ],
    shownBy: [
      'packages/http/src/bounded-json.test.ts › A2A-E19: parseBoundedJson() takes 64 levels and refuses 65, and 40,000, before parsing',
    ],
  },
  {
    row: 'AP-47',
    title: 'a context nobody knows',
    cases: [
      {
        title: 'unsigned',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice, {}, strange), { isUnsigned: true }),
        expect: unsigned,
      },
      { ...noteWith('signed', {}, strange, taken), ...watchHosts() },
    ],
    shownBy: bodies('AP-47: an unknown context is never fetched'),
  },
  {
    row: 'AP-48',
    title: '50 000 mentions',
    cases: [true, false].map(isUnsigned => ({
      title: isUnsigned ? 'unsigned' : 'signed',
      send({ gateway, alice }: Stage) {
        const tag = Array.from({ length: 50_000 }, (_, at) => ({ type: 'Mention', href: `https://other.test/${at}` }))
        return postActivity(gateway, alice, composeNote(alice, { tag }), { isUnsigned })
      },
      // Without a signature its body is not read at all.
      expect: isUnsigned ? unsigned : { status: 413, code: 'too_large', turns: 0, fetches: 0 },
    })),
    shownBy: bodies('AP-48: 50 000 mentions are refused before anything is fetched'),
  },
  {
    row: 'AP-49',
    title: 'contexts whose hosts are down',
    cases: [{ ...noteWith('matter to nobody', down, down, { ...taken, fetches: 2 }), ...watchHosts() }],
    shownBy: bodies('AP-47: an unknown context is never fetched'),
  },
  {
    row: 'AP-50',
    title: 'a context that gives names another meaning',
    cases: ['actor', 'id', 'object'].map(name =>
      noteWith(name, {}, { '@context': [as, { [name]: 'https://evil.test/ns#other' }] }, malformed),
    ),
    shownBy: bodies('AP-50: a context that renames "%s" is refused'),
  },
  {
    row: 'AP-51',
    title: 'a linked-data signature, rearranged or not',
    cases: [
      ...['@graph', '@reverse', '@included'].map(keyword => noteWith(keyword, {}, { [keyword]: [] }, malformed)),
      {
        title: 'genuine, and alone',
        send({ gateway, alice }) {
          const signature = { type: 'RsaSignature2017', creator: alice.keyId, signatureValue: 'AAAA' }
          return postActivity(gateway, alice, composeNote(alice, {}, { signature }), { isUnsigned: true })
        },
        expect: unsigned,
      },
    ],
    shownBy: titlesOf('object-proofs', 'AP-51: a Linked Data Signature that verifies proves nothing'),
  },
  {
    row: 'AP-52',
    title: 'an object proof that does not hold',
    cases: [
      {
        ...noteWith(
          'of a key that requests are signed with',
          {},
          {
            proof: {
              type: 'DataIntegrityProof',
              cryptosuite: 'eddsa-jcs-2022',
              created: '2026-11-21T00:00:00Z',
              verificationMethod: 'https://good.test/users/alice#main-key',
              proofPurpose: 'assertionMethod',
              proofValue: 'z3',
            },
          },
          taken,
        ),
        async after({ stored }) {
          const [record] = await stored()
          expect(record?.message.sender.identities).toHaveLength(1)
          expect(record?.proofs).toContainEqual(
            expect.objectContaining({ kind: 'object-integrity-proof', verdict: 'fail' }),
          )
        },
      },
    ],
    shownBy: titlesOf('object-proofs', 'AP-52: a proof is ignored', 'with %s'),
  },
]
