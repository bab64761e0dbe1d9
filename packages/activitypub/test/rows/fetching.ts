import { expect } from 'vitest'
import type { PostAnswer } from '../person.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { guardTitlesOf, refused, taken, titlesOf } from './row.ts'

const titles = (...names: readonly string[]) => titlesOf('fetching', ...names)
const invalid = { ...refused, code: 'signature_invalid' } as const

/** A note of somebody whose actor lives at this host. */
function postFrom(host: string, { gateway, alice }: Stage): Promise<PostAnswer> {
  const id = `https://${host}/users/alice`
  const author = { ...alice, id, keyId: `${id}#main-key` }
  return postActivity(gateway, author, composeNote(author))
}

/** DNS gives one answer after the other. */
function answerInTurn(...answers: readonly (readonly string[])[]): Pick<RowCase, 'options'> {
  const left = [...answers]
  return { options: { lookup: async () => left.shift() ?? answers.at(-1) ?? [] } }
}

/** The same key costs nothing for a while. */
async function expectLeftInPeace({ gateway, peer, alice }: Stage, { status }: PostAnswer): Promise<void> {
  peer.forget()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status })
  expect(peer.requests).toEqual([])
}

const privateHosts = [
  ...['127.0.0.1', '0.0.0.0', '169.254.169.254', '10.0.0.1', '100.64.0.1', '198.18.0.1', '192.0.2.1', '224.0.0.1'],
  ...['[::1]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[fc00::1]'],
  ...['2130706433', '0177.0.0.1', '0x7f.1', 'localhost.'],
]

export const fetching: readonly Row[] = [
  {
    row: 'AP-32',
    title: 'a key on a private address',
    cases: privateHosts.map(host => ({
      title: host,
      send: (stage: Stage) => postFrom(host, stage),
      expect: { ...invalid, fetches: 0 },
    })),
    shownBy: titles('AP-32: an actor on %s is refused without a connection'),
  },
  {
    row: 'AP-33',
    title: 'a public name with a mapped private address',
    cases: [
      {
        title: 'in its AAAA record',
        ...answerInTurn(['::ffff:127.0.0.1']),
        send: stage => postFrom('public.example', stage),
        expect: { ...invalid, fetches: 0 },
      },
      {
        title: 'beside a public one',
        ...answerInTurn(['3ffe:ffff::1', '::ffff:10.0.0.1']),
        send: stage => postFrom('public.example', stage),
        expect: { ...invalid, fetches: 0 },
      },
    ],
    shownBy: guardTitlesOf('guarded-fetch', 'createGuardedFetch() refuses %s without a connection'),
  },
  {
    row: 'AP-34',
    title: 'a redirect to somewhere else',
    cases: ['https://127.0.0.1/users/alice', 'https://other.test/users/alice'].map(location => ({
      title: location,
      send({ gateway, peer, alice }: Stage) {
        peer.serve(alice.id, { status: 302, headers: { location } })
        peer.serve('https://other.test/users/alice', { body: alice.document })
        return postActivity(gateway, alice, composeNote(alice))
      },
      expect: { ...invalid, fetches: 1 },
    })),
    shownBy: [
      ...titles('AP-34: a redirect within the origin is followed with a signature of its own'),
      ...guardTitlesOf(
        'redirects',
        'AP-34: what proves who we are does not follow to another origin',
        'AP-34: a redirect to a name with a private address is refused',
      ),
    ],
  },
  {
    row: 'AP-35',
    title: 'a name that is public when it is looked at and private when it is called',
    cases: [
      {
        title: 'is called where it was looked at',
        ...answerInTurn(['3ffe:ffff::1'], ['127.0.0.1']),
        send: stage => postFrom('public.example', stage),
        // Nobody answers there; the private address would have been refused with 401.
        expect: { status: 503, turns: 0, fetches: 0 },
      },
    ],
    shownBy: guardTitlesOf(
      'guarded-fetch',
      'AP-35: createGuardedFetch() connects to the address it checked, whatever DNS says afterwards',
      'AP-35: an address that turns private between two look-ups never reaches the private listener',
    ),
  },
  {
    row: 'AP-36',
    title: 'redirects without end, or out of https',
    cases: [
      ...['data:application/activity+json,{}', 'file:///etc/passwd', 'http://good.test/users/alice'].map(location => ({
        title: location,
        send({ gateway, peer, alice }: Stage) {
          peer.serve(alice.id, { status: 302, headers: { location } })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { ...invalid, fetches: 1 },
        after: expectLeftInPeace,
      })),
      {
        title: 'twenty hops',
        send({ gateway, peer, alice }) {
          const placeOf = (hop: number) => (hop ? `https://good.test/hops/${hop}` : alice.id)
          for (let hop = 0; hop < 20; hop += 1) {
            peer.serve(placeOf(hop), { status: 302, headers: { location: placeOf(hop + 1) } })
          }
          peer.serve(placeOf(20), { body: alice.document })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { ...invalid, fetches: 4 },
        after: expectLeftInPeace,
      },
    ],
    shownBy: titles('AP-36: a redirect %s is refused, and asked for once in a while only'),
  },
  {
    row: 'AP-37',
    title: 'a key host that never finishes',
    cases: [
      {
        title: 'is given up and left in peace',
        options: { watchFetch: fetch => (url, init) => fetch(url, { ...init, timeoutMs: 100 }) },
        send({ gateway, peer, alice }) {
          peer.serve(alice.id, 'hang')
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { status: 503, code: 'unavailable', turns: 0, fetches: 1 },
        async after(stage, answer) {
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
          await expectLeftInPeace(stage, answer)
        },
      },
    ],
    shownBy: guardTitlesOf(
      'fetch-limits',
      'the deadline spans redirects: hops do not add up',
      'AP-37: one host gets sixteen exchanges at a time, the rest wait their turn',
    ),
  },
  {
    row: 'AP-38',
    title: 'a key document of any size',
    cases: [
      {
        title: 'more than 1 MiB',
        send({ gateway, peer, alice }) {
          peer.serve(alice.id, { body: { ...alice.document, padding: 'x'.repeat(1_100_000) } })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { ...invalid, fetches: 1 },
      },
      {
        title: 'compressed',
        send({ gateway, peer, alice }) {
          peer.serve(alice.id, { headers: { 'content-encoding': 'gzip' }, body: 'a bomb' })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { ...invalid, fetches: 1 },
      },
    ],
    shownBy: guardTitlesOf('fetch-limits', 'AP-38: an endless body is cut off at the limit'),
  },
  {
    row: 'AP-39',
    title: 'HTML built to blow up an expression',
    cases: [
      {
        title: 'where an actor is expected it is not looked at',
        send({ gateway, peer, alice }) {
          const body = `<html>${'<link rel="alternate" type="'.repeat(30_000)}`
          peer.serve(alice.id, { type: 'text/html', body })
          return postActivity(gateway, alice, composeNote(alice))
        },
        expect: { ...invalid, fetches: 1 },
      },
    ],
    shownBy: ['packages/markup/src/html/linear-time.test.ts › htmlToText() takes linear time for much of %j'],
  },
  {
    row: 'AP-40',
    title: 'an inbox on a private address',
    shownBy: titlesOf('deliveries', 'AP-40: an inbox on a private address is not delivered to'),
  },
  {
    row: 'AP-41',
    title: 'a shared inbox on a third party’s host',
    shownBy: titles('AP-41: a shared inbox on a third party’s host is not used'),
  },
  {
    row: 'AP-42',
    title: 'thousands of actors on as many hosts',
    cases: [
      {
        title: 'that all fail are each asked once in a while',
        async send(stage) {
          const { gateway, peer, alice } = stage
          const authors = Array.from({ length: 100 }, (_, at) => {
            const id = `https://good.test/users/nobody-${at}`
            peer.serve(id, { status: 503 })
            return { ...alice, id, keyId: `${id}#main-key` }
          })
          for (const author of [...authors, ...authors]) await postActivity(gateway, author, composeNote(author))
          return postFrom('127.0.0.1', stage)
        },
        expect: { ...invalid, fetches: 100 },
      },
    ],
    shownBy: [
      ...titlesOf(
        'expiring-map',
        'createExpiringMap() holds so many keys, and forgets the least recently used first',
        'createExpiringMap() forgets in time',
      ),
      'packages/core/src/worker/breaker.test.ts › AP-42: hosts that strangers make up are remembered up to a number, the longest untouched go first',
      'packages/core/src/worker/breaker.test.ts › AP-42: what was not heard of for a day is forgotten',
    ],
  },
  {
    row: 'AP-43',
    title: 'a thousand keys a second',
    cases: [
      {
        title: 'that do not sign ask nobody',
        async send({ gateway, alice }) {
          const answers: PostAnswer[] = []
          for (let at = 0; at < 100; at += 1) {
            const keyId = `${alice.id}#${at}`
            answers.push(await postActivity(gateway, alice, composeNote(alice), { keyId, digest: 'garbage' }))
          }
          return answers.at(-1)!
        },
        expect: { ...refused, fetches: 0 },
      },
      {
        title: 'that nobody has cost two looks',
        async send({ gateway, alice }) {
          const answers: PostAnswer[] = []
          for (let at = 0; at < 100; at += 1) {
            answers.push(await postActivity(gateway, alice, composeNote(alice), { keyId: `${alice.id}#${at}` }))
          }
          return answers.at(-1)!
        },
        expect: { ...refused, fetches: 2 },
      },
    ],
    shownBy: [
      ...titles('AP-43: strangers cannot make us look up without end'),
      ...guardTitlesOf('fetch-limits', 'AP-43: what would wait behind 256 others for one host is turned away'),
    ],
  },
  {
    row: 'AP-44',
    title: 'a name’s answer that is of no use',
    cases: [
      { type: 'application/jrd+json', body: { subject: 'acct:bob@good.test', links: [] } },
      { type: 'application/jrd+json', body: 'x'.repeat(10_000_000) },
      { status: 302, headers: { location: 'http://good.test/elsewhere' } },
      { status: 302, headers: { location: 'https://127.0.0.1/elsewhere' } },
    ].map((route, at) => ({
      title: ['another subject', '10 MB', 'another scheme', 'a private address'][at] ?? '',
      send({ gateway, peer, alice }: Stage) {
        peer.serve('https://good.test/.well-known/webfinger', route)
        return postActivity(gateway, alice, composeNote(alice))
      },
      expect: { ...taken, fetches: 2 },
      async after({ stored }: Stage) {
        expect((await stored())[0]?.message.sender.address).toBe('@~unconfirmed@good.test')
      },
    })),
    shownBy: titles('AP-44: a name’s answer that is broken, private, too large or on another scheme confirms nothing'),
  },
]
