import { expect } from 'vitest'
import { composeActivity, echoActor } from '../activity.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Row } from './row.ts'
import { taken, titlesOf, withoutEffect } from './row.ts'
import { forged, noteWith } from './send.ts'

const bodies = (...names: readonly string[]) => titlesOf('bodies', ...names)

export const reach: readonly Row[] = [
  {
    row: 'AP-64',
    title: 'a blocked domain',
    cases: [
      {
        title: 'signs',
        options: { config: { block: ['evil.test'] } },
        send: ({ gateway, mallory }) => postActivity(gateway, mallory, composeNote(mallory)),
        expect: { status: 403, code: 'forbidden', turns: 0, fetches: 0 },
      },
      {
        title: 'is boosted',
        options: { config: { block: ['evil.test'] } },
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeActivity(alice, 'Announce', forged, { cc: [echoActor] })),
        expect: { turns: 0 },
        after: async ({ stored }) => expect(await stored()).toEqual([]),
      },
      {
        ...noteWith('is quoted', { quote: forged.id }, {}, { ...taken, fetches: 2 }),
        options: { config: { block: ['evil.test'] } },
        async after({ stored }) {
          expect((await stored())[0]?.message.parts).toMatchObject([{ kind: 'text', content: 'Hello' }])
        },
      },
    ],
    shownBy: [
      ...bodies('AP-64: a blocked domain does not come in by names on another server'),
      ...titlesOf(
        'blocks',
        'AP-64: a blocked domain’s post that is boosted %s has no effect, and is not fetched',
        'AP-64: a %s of a post that a blocked actor has written too has no effect',
      ),
      ...titlesOf(
        'background-limits',
        'AP-64: a blocked host in the thread is not asked, and nothing behind it is read',
      ),
    ],
  },
  {
    row: 'AP-65',
    title: 'a stranger asks for what is not for him',
    shownBy: [
      ...titlesOf('signed-fetch', 'AP-65: a post that is not for everybody', 'does not exist for %s'),
      ...titlesOf('documents', 'AP-65: a direct one does not exist for strangers'),
      ...titlesOf('reactions', 'AP-65: a stranger cannot react to what he may not read'),
    ],
  },
  {
    row: 'AP-66',
    title: 'crowds, machines and bursts',
    cases: [
      {
        title: '200 mentions are kept from the agents',
        send({ gateway, alice }) {
          const hrefs = [echoActor, ...Array.from({ length: 199 }, (_, at) => `https://other.test/users/${at}`)]
          return postActivity(
            gateway,
            alice,
            composeNote(alice, { tag: hrefs.map(href => ({ type: 'Mention', href })) }),
          )
        },
        expect: withoutEffect,
        async after({ stored }) {
          expect(await stored()).toMatchObject([{ state: 'ignored', flags: ['mass_mention'] }])
        },
      },
    ],
    shownBy: [
      ...titlesOf('loops', 'AP-66: a %s gets so many turns of a thread in an hour, then silence'),
      ...titlesOf(
        'loops',
        'AP-66: somebody who answers within seconds each time is a machine, whatever it says of itself',
      ),
      'apps/gateway/test/burst.test.ts › AP-66: a burst from one instance, however many people send it, is cut off; other instances are not',
      'apps/gateway/src/limits.test.ts › all addresses of one IPv6 network are one peer',
    ],
  },
  {
    row: 'AP-67',
    title: 'another method, another type, nobody',
    cases: [
      {
        title: 'GET',
        async send({ gateway }) {
          const { status, headers } = await gateway.app.request('/inbox')
          return { status, headers, code: undefined, detail: undefined }
        },
        expect: { status: 405, turns: 0, fetches: 0 },
      },
      {
        title: 'text/plain',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice), { headers: { 'content-type': 'text/plain' } }),
        expect: { status: 415, code: 'unsupported', turns: 0, fetches: 0 },
      },
      {
        title: 'an agent that does not exist',
        send: ({ gateway, alice }) =>
          postActivity(gateway, alice, composeNote(alice), { path: '/agents/nobody/inbox' }),
        expect: { status: 404, code: 'no_recipient', turns: 0, fetches: 0 },
      },
    ],
    shownBy: bodies('AP-67: the linked-data type with the ActivityStreams profile is taken'),
  },
]
