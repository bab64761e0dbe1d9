import { expect, vi } from 'vitest'
import { composeNote, postActivity, publicCollection } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row } from './row.ts'
import { taken, titlesOf } from './row.ts'
import type { Members } from './send.ts'
import { expectRead, forged, malformed, noteWith } from './send.ts'

const bodies = (...names: readonly string[]) => titlesOf('bodies', ...names)

const changes = (...names: readonly string[]) => titlesOf('changes', ...names)

/** What a post may have around it that leads on for ever. */
const endless = (id: string) => ({
  id,
  inReplyTo: id,
  context: `${id}/context`,
  replies: { id: `${id}/replies`, type: 'Collection', first: `${id}/replies`, next: `${id}/replies`, items: [id] },
})

export const content: readonly Row[] = [
  {
    row: 'AP-58',
    title: 'names of the prototype',
    cases: [
      {
        title: '__proto__ and constructor',
        send({ gateway, alice }) {
          const polluted = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},'
          return postActivity(gateway, alice, JSON.stringify(composeNote(alice)).replace('{', `{${polluted}`))
        },
        expect: taken,
        async after() {
          expect(({} as Members).polluted).toBeUndefined()
        },
      },
    ],
    shownBy: bodies('AP-58: names of the prototype change nothing'),
  },
  {
    row: 'AP-59',
    title: 'JSON of another shape',
    cases: [
      ...[null, []].map(body => ({
        title: JSON.stringify(body),
        send: ({ gateway, alice }: Stage) => postActivity(gateway, alice, body),
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
    shownBy: bodies('AP-59: a body that is %s, or holds it, is malformed', 'AP-59: a "to" that is %s is read'),
  },
  {
    row: 'AP-60',
    title: 'a language that is none',
    cases: [
      {
        ...noteWith('is passed over', { content: undefined, contentMap: { 'x y': 'bad', de: 'gut' } }, {}, taken),
        after: stage => expectRead(stage, 'gut'),
      },
    ],
    shownBy: bodies('AP-60: a malformed language is passed over'),
  },
  {
    row: 'AP-61',
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
      ...bodies('AP-61: what a reader would not see does not reach the agent, and is marked'),
      'packages/activitypub/src/html/sanitize.test.ts › sanitizeHtml(): %s',
    ],
  },
  {
    row: 'AP-62',
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
      'AP-62: a quote is a link, whatever stamp comes with it, and the fallback text is left out',
      'AP-62: a quoted post that comes along is data nobody reads',
    ),
  },
  {
    row: 'AP-63',
    title: 'collections without an end',
    cases: [
      {
        title: 'are not walked, a thread that leads back into itself is read once',
        send({ gateway, peer, alice }) {
          const loop = `${alice.id}/loop`
          peer.serve(loop, { body: { ...endless(loop), type: 'Note', attributedTo: alice.id, content: '<p>x</p>' } })
          peer.serve(`${loop}/replies`, { body: endless(`${loop}/replies`) })
          peer.serve('https://good.test/inbox', { status: 202 })
          gateway.work()
          return postActivity(gateway, alice, composeNote(alice, { ...endless(loop), id: `${alice.id}/mention` }))
        },
        expect: { status: 202 },
        async after({ gateway, peer, alice }) {
          await vi.waitFor(() => expect(peer.countOf('https://good.test/inbox')).toBe(1))
          expect(gateway.resolved).toHaveLength(1)
          const counts = ['', '/replies', '/context'].map(path => peer.countOf(`${alice.id}/loop${path}`))
          expect(counts).toEqual([1, 0, 0])
        },
      },
    ],
    shownBy: [
      ...changes('AP-63: collections of replies are not walked, however endless'),
      ...titlesOf(
        'background-limits',
        'AP-63: collections are not followed, however they are offered',
        'of a long thread the newest twenty posts are fetched, and no more',
        'AP-37: a host that hangs costs the answer no more than its time, and the next one none',
      ),
    ],
  },
]
