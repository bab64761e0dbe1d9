import { expect } from 'vitest'
import { composeActivity, composeDelete, composeUpdate, echoActor, objectIdOf } from '../activity.ts'
import type { PostAnswer } from '../person.ts'
import { composeNote, postActivity, publicCollection } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { refused, taken, titlesOf, withoutEffect } from './row.ts'

type Members = Record<string, unknown>

const bodies = (...names: readonly string[]) => titlesOf('bodies', ...names)
const changes = (...names: readonly string[]) => titlesOf('changes', ...names)
const malformed = { status: 400, code: 'malformed', turns: 0, fetches: 0 } as const
const unsigned = { ...refused, code: 'unsigned', fetches: 0 } as const

/** A note with these members, and an activity with those around it. */
function noteWith(title: string, note: Members, activity: Members, outcome: RowCase['expect']): RowCase {
  return {
    title,
    send: ({ house, alice }) => postActivity(house, alice, composeNote(alice, note, activity)),
    expect: outcome,
  }
}

/** What alice does to an object that is not hers. */
function actOn(title: string, type: string, object: unknown, members: Members = {}): RowCase {
  return {
    title,
    send: ({ house, alice }) => postActivity(house, alice, composeActivity(alice, type, object, members)),
    expect: withoutEffect,
  }
}

/** A note is there already; what then? */
async function afterNote(
  { house, alice }: Stage,
  send: (note: Members) => Promise<PostAnswer>,
  audience: Members = {},
): Promise<PostAnswer> {
  const note = composeNote(alice, audience, audience)
  await postActivity(house, alice, note)
  return send(note)
}

/** What an agent reads of the only post. */
async function expectRead({ stored }: Stage, text: string): Promise<void> {
  const [record] = await stored()
  expect(record?.message.parts[0]).toMatchObject({ kind: 'text', content: text })
}

async function expectUnchanged(stage: Stage): Promise<void> {
  expect(await stage.stored()).toMatchObject([{ state: 'received', flags: [] }])
  await expectRead(stage, 'Hello')
}

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
const as = 'https://www.w3.org/ns/activitystreams'
const strange = { '@context': [as, 'https://evil.test/context.jsonld'] }
const down = {
  '@context': [as, 'https://w3id.org/security/v1', 'https://purl.archive.org/miscellany', 'https://codeberg.org/ns'],
}
const onlyAgent = { to: [echoActor], cc: [] }
const forged = {
  id: 'https://evil.test/notes/1',
  type: 'Note',
  content: '<p>forged</p>',
  attributedTo: 'https://evil.test/users/mallory',
}

export const content: readonly Row[] = [
  {
    row: 45,
    title: 'a body of 2 MiB',
    cases: [
      {
        title: 'without a length',
        send: ({ house, alice }) => postActivity(house, alice, { ...composeNote(alice), padding: 'x'.repeat(2 ** 21) }),
        expect: { status: 413, code: 'too_large', turns: 0, fetches: 0 },
      },
      {
        title: 'unsigned, with one',
        send: ({ house, alice }) =>
          postActivity(house, alice, composeNote(alice), {
            isUnsigned: true,
            headers: { 'content-length': String(2 ** 21) },
          }),
        expect: { status: 413, code: 'too_large', turns: 0, fetches: 0 },
      },
    ],
    shownBy: bodies('45: a body of 2 MiB is 413, whether its length is declared or not'),
  },
  {
    row: 46,
    title: '3 000 objects inside each other',
    cases: [
      {
        title: 'unsigned',
        send: ({ house, alice }) => postActivity(house, alice, deep, { isUnsigned: true }),
        expect: unsigned,
      },
      { title: 'signed', send: ({ house, alice }) => postActivity(house, alice, deep), expect: malformed },
    ],
    shownBy: [
      'packages/http/src/bounded-json.test.ts › a2a E19: parseBoundedJson() takes 64 levels and refuses 65, and 40,000, before parsing',
    ],
  },
  {
    row: 47,
    title: 'a context nobody knows',
    cases: [
      {
        title: 'unsigned',
        send: ({ house, alice }) => postActivity(house, alice, composeNote(alice, {}, strange), { isUnsigned: true }),
        expect: unsigned,
      },
      { ...noteWith('signed', {}, strange, taken), ...watchHosts() },
    ],
    shownBy: bodies('47: an unknown context is never fetched'),
  },
  {
    row: 48,
    title: '50 000 mentions',
    cases: [true, false].map(isUnsigned => ({
      title: isUnsigned ? 'unsigned' : 'signed',
      send({ house, alice }: Stage) {
        const tag = Array.from({ length: 50_000 }, (_, at) => ({ type: 'Mention', href: `https://other.test/${at}` }))
        return postActivity(house, alice, composeNote(alice, { tag }), { isUnsigned })
      },
      expect: { status: 413, code: 'too_large', turns: 0, fetches: 0 },
    })),
    shownBy: bodies('48: 50 000 mentions are refused before anything is fetched'),
  },
  {
    row: 49,
    title: 'contexts whose hosts are down',
    cases: [{ ...noteWith('matter to nobody', down, down, { ...taken, fetches: 2 }), ...watchHosts() }],
    shownBy: bodies('47: an unknown context is never fetched'),
  },
  {
    row: 50,
    title: 'a context that gives names another meaning',
    cases: ['actor', 'id', 'object'].map(name =>
      noteWith(name, {}, { '@context': [as, { [name]: 'https://evil.test/ns#other' }] }, malformed),
    ),
    shownBy: bodies('50: a context that renames "%s" is refused'),
  },
  {
    row: 51,
    title: 'a linked-data signature, rearranged or not',
    cases: [
      ...['@graph', '@reverse', '@included'].map(keyword => noteWith(keyword, {}, { [keyword]: [] }, malformed)),
      {
        title: 'genuine, and alone',
        send({ house, alice }) {
          const signature = { type: 'RsaSignature2017', creator: alice.keyId, signatureValue: 'AAAA' }
          return postActivity(house, alice, composeNote(alice, {}, { signature }), { isUnsigned: true })
        },
        expect: unsigned,
      },
    ],
    shownBy: titlesOf('object-proofs', '51: a Linked Data Signature that verifies proves nothing'),
  },
  {
    row: 52,
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
    shownBy: titlesOf('object-proofs', '52: a proof is ignored', 'with %s'),
  },
  {
    row: 53,
    title: 'an existing post with a wider audience',
    cases: [
      {
        title: 'created again by its author',
        send: stage =>
          afterNote(
            stage,
            note => {
              const wide = { to: [publicCollection], cc: [echoActor] }
              const object = { ...(note.object as Members), ...wide }
              return postActivity(stage.house, stage.alice, { ...note, ...wide, id: `${note.id}/again`, object })
            },
            onlyAgent,
          ),
        expect: taken,
        async after({ house, alice, stored }) {
          const [record, ...more] = await stored()
          expect(more).toEqual([])
          const object = record?.message.id.replace('/activity', '') ?? ''
          const [known] = await house.desk.findAuthored('activitypub', { author: alice.id, object })
          expect(known).toMatchObject({ scope: alice.id, target: { visibility: 'direct' } })
        },
      },
      {
        title: 'created by somebody else',
        send: stage =>
          afterNote(
            stage,
            note => {
              const { house, mallory } = stage
              return postActivity(house, mallory, composeNote(mallory, { id: objectIdOf(note) }))
            },
            onlyAgent,
          ),
        expect: { status: 401, code: 'signer_mismatch', turns: 1 },
      },
    ],
    shownBy: changes('53: an edit does not widen who may read, nor does a second Create of the same post'),
  },
  {
    row: 54,
    title: 'an Update of somebody else’s post',
    cases: [
      {
        title: 'is refused',
        send: stage =>
          afterNote(stage, note =>
            postActivity(stage.house, stage.mallory, composeUpdate(stage.mallory, note, { content: 'forged' })),
          ),
        expect: { status: 401, code: 'signer_mismatch', turns: 1 },
        after: expectUnchanged,
      },
    ],
    shownBy: changes('54: an Update of somebody else’s post is refused, and the post is unchanged'),
  },
  {
    row: 55,
    title: 'a Delete of what is somebody else’s',
    cases: ['post', 'actor'].map(what => ({
      title: what,
      send: (stage: Stage) =>
        afterNote(stage, note => {
          const { house, mallory, alice } = stage
          return postActivity(house, mallory, composeDelete(mallory, what === 'post' ? objectIdOf(note) : alice.id))
        }),
      expect: { status: 202, turns: 1 },
      after: expectUnchanged,
    })),
    shownBy: changes('55: a Delete of what is not the actor’s own is taken and has no effect'),
  },
  {
    row: 56,
    title: 'an Announce with a forged post in it',
    cases: [actOn('of mallory', 'Announce', forged, { to: [publicCollection], cc: [echoActor] })],
    shownBy: titlesOf('reactions', '56: what a boost has in it of the post is never read'),
  },
  {
    row: 57,
    title: 'an answer to what nobody asked, and what somebody else did undone',
    cases: [
      actOn('Accept', 'Accept', { id: `${echoActor}/follows/1`, type: 'Follow', actor: echoActor }),
      actOn('Reject', 'Reject', `${echoActor}/follows/1`),
      {
        title: 'Undo',
        async send({ house, alice, mallory }) {
          const follow = composeActivity(alice, 'Follow', echoActor)
          await postActivity(house, alice, follow)
          return postActivity(house, mallory, composeActivity(mallory, 'Undo', follow))
        },
        expect: { status: 202 },
        async after({ house, alice }) {
          const key = { via: 'activitypub', agent: 'echo', relation: 'follower', peer: alice.id } as const
          expect(await house.desk.findRelation(key)).toBeDefined()
        },
      },
    ],
    shownBy: titlesOf('follows', '57: an Undo of somebody else’s Follow has no effect'),
  },
  {
    row: 58,
    title: 'names of the prototype',
    cases: [
      {
        title: '__proto__ and constructor',
        send({ house, alice }) {
          const polluted = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},'
          return postActivity(house, alice, JSON.stringify(composeNote(alice)).replace('{', `{${polluted}`))
        },
        expect: taken,
        async after() {
          expect(({} as Members).polluted).toBeUndefined()
        },
      },
    ],
    shownBy: bodies('58: names of the prototype change nothing'),
  },
  {
    row: 59,
    title: 'JSON of another shape',
    cases: [
      ...[null, []].map(body => ({
        title: JSON.stringify(body),
        send: ({ house, alice }: Stage) => postActivity(house, alice, body),
        expect: malformed,
      })),
      noteWith('two types', {}, { type: ['Create', 'Delete'] }, malformed),
      noteWith('several objects', {}, { object: [{ id: 'https://good.test/1' }] }, malformed),
      noteWith('a number for an id', {}, { id: 7 }, malformed),
      noteWith(
        'an object for whom it is to',
        { to: { id: publicCollection } },
        { to: { id: publicCollection } },
        taken,
      ),
    ],
    shownBy: bodies('59: a body that is %s, or holds it, is malformed', '59: a "to" that is %s is read'),
  },
  {
    row: 60,
    title: 'a language that is none',
    cases: [
      {
        ...noteWith('is passed over', { content: undefined, contentMap: { 'x y': 'bad', de: 'gut' } }, {}, taken),
        after: stage => expectRead(stage, 'gut'),
      },
    ],
    shownBy: bodies('60: a malformed language is passed over'),
  },
  {
    row: 61,
    title: 'HTML that acts or hides',
    cases: [
      {
        ...noteWith(
          'is text without either',
          {
            content:
              '<p onclick="x()">Hi<span style="display:none">obey</span>\u200b <a href="javascript:x()">there</a></p><script>x()</script>',
          },
          {},
          taken,
        ),
        async after(stage) {
          await expectRead(stage, 'Hi there')
          expect((await stage.stored())[0]?.flags).toContain('hidden_text')
        },
      },
    ],
    shownBy: [
      ...bodies('61: what a reader would not see does not reach the agent, and is marked'),
      'packages/activitypub/src/html/sanitize.test.ts › sanitizeHtml(): %s',
    ],
  },
  {
    row: 62,
    title: 'a forged stamp on a quote',
    cases: [
      {
        ...noteWith(
          'a quote is an address, whatever stamp comes with it',
          { quote: forged.id, quoteAuthorization: 'https://evil.test/stamps/1' },
          {},
          { ...taken, fetches: 2 },
        ),
        async after(stage) {
          expect((await stage.stored())[0]?.message.parts).toEqual([
            { kind: 'text', mime: 'text/plain', content: 'Hello' },
            { kind: 'link', url: forged.id, title: 'Quoted post' },
          ])
        },
      },
    ],
    shownBy: changes(
      '62: a quote is a link, whatever stamp comes with it, and the fallback text is left out',
      '62: a quoted post that comes along is data nobody reads',
    ),
  },
  {
    row: 63,
    title: 'collections without an end',
    shownBy: changes('63: collections of replies are not walked, however endless'),
  },
  {
    row: 64,
    title: 'a blocked domain',
    cases: [
      {
        title: 'signs',
        options: { config: { block: ['evil.test'] } },
        send: ({ house, mallory }) => postActivity(house, mallory, composeNote(mallory)),
        expect: { status: 403, code: 'forbidden', turns: 0, fetches: 0 },
      },
      {
        title: 'is boosted',
        options: { config: { block: ['evil.test'] } },
        send: ({ house, alice }) =>
          postActivity(house, alice, composeActivity(alice, 'Announce', forged, { cc: [echoActor] })),
        expect: { turns: 0 },
        after: async ({ stored }) => expect(await stored()).toEqual([]),
      },
    ],
    shownBy: bodies('64: a blocked domain does not come in by names on another server'),
  },
  {
    row: 65,
    title: 'a stranger asks for what is not for him',
    shownBy: [
      ...titlesOf('signed-fetch', '65: a post that is not for everybody', 'does not exist for %s'),
      ...titlesOf('documents', '65: a direct one does not exist for strangers'),
      ...titlesOf('reactions', '65: a stranger cannot react to what he may not read'),
    ],
  },
  {
    row: 66,
    title: 'crowds, machines and bursts',
    cases: [
      {
        title: '200 mentions are kept from the agents',
        send({ house, alice }) {
          const hrefs = [echoActor, ...Array.from({ length: 199 }, (_, at) => `https://other.test/users/${at}`)]
          return postActivity(house, alice, composeNote(alice, { tag: hrefs.map(href => ({ type: 'Mention', href })) }))
        },
        expect: withoutEffect,
        async after({ stored }) {
          expect(await stored()).toMatchObject([{ state: 'ignored', flags: ['mass_mention'] }])
        },
      },
    ],
    shownBy: [
      ...titlesOf('loops', '66: a %s gets so many turns of a thread in an hour, then silence'),
      ...titlesOf(
        'loops',
        '66: somebody who answers within seconds each time is a machine, whatever it says of itself',
      ),
      'apps/gateway/test/burst.test.ts › 66: a burst from one instance, however many people send it, is cut off; other instances are not',
      'apps/gateway/src/limits.test.ts › all addresses of one IPv6 network are one peer',
    ],
  },
  {
    row: 67,
    title: 'another method, another type, nobody',
    cases: [
      {
        title: 'GET',
        async send({ house }) {
          const { status, headers } = await house.app.request('/inbox')
          return { status, headers, code: undefined, detail: undefined }
        },
        expect: { status: 405, turns: 0, fetches: 0 },
      },
      {
        title: 'text/plain',
        send: ({ house, alice }) =>
          postActivity(house, alice, composeNote(alice), { headers: { 'content-type': 'text/plain' } }),
        expect: { status: 415, code: 'unsupported', turns: 0, fetches: 0 },
      },
      {
        title: 'an agent that does not exist',
        send: ({ house, alice }) => postActivity(house, alice, composeNote(alice), { path: '/agents/nobody/inbox' }),
        expect: { status: 404, code: 'no_recipient', turns: 0, fetches: 0 },
      },
    ],
    shownBy: bodies('67: the linked-data type with the ActivityStreams profile is taken'),
  },
]
