import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { composeNote, postActivity, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row } from './row.ts'
import { refused, taken, titlesOf } from './row.ts'
import { invalid, signedWith } from './send.ts'

const titles = (...names: readonly string[]) => titlesOf('signatures', ...names)

const target = '(request-target)'

const hour = 3_600_000

const secondsOf = ({ gateway }: Stage) => Math.floor(gateway.platform.now() / 1_000)

const digestOf = (text: string) => `SHA-256=${createHash('sha256').update(text).digest('base64')}`

export const signatures: readonly Row[] = [
  {
    row: 'AP-13',
    title: 'no signature',
    cases: [
      {
        ...signedWith('at all', { isUnsigned: true }, { ...refused, code: 'unsigned', fetches: 0 }),
        async after(_, { headers }) {
          expect(headers.get('accept-signature')).toContain('"@method" "@target-uri" "content-digest"')
        },
      },
    ],
    shownBy: titlesOf('message-signatures', 'AP-13: tells who did not sign how to'),
  },
  {
    row: 'AP-14',
    title: 'a signature that covers too little',
    cases: [
      signedWith('the date alone', { covered: ['date'] }),
      signedWith('the host alone', { covered: ['host'] }),
      signedWith('no time', { covered: [target, 'host', 'digest'] }),
    ],
    shownBy: titles(
      'AP-14: a signature that covers %s is refused',
      'AP-14: the header list left out covers too little',
    ),
  },
  {
    row: 'AP-15',
    title: 'a digest that says nothing of the body',
    cases: [
      signedWith('none', { digest: '' }),
      signedWith('of another body', { digest: digestOf('another') }),
      signedWith('not signed', { covered: [target, 'host', 'date'] }),
      {
        title: 'two, one of them right',
        send({ gateway, alice }) {
          const body = JSON.stringify(composeNote(alice))
          return postActivity(gateway, alice, body, { digest: `${digestOf('another')},${digestOf(body)}` })
        },
        expect: invalid,
      },
    ],
    shownBy: titles('that %s is refused', 'of two, both must be right: %s'),
  },
  {
    row: 'AP-16',
    title: 'a digest named in lower case is honest',
    cases: [
      {
        title: 'sha-256',
        send({ gateway, alice }) {
          const body = JSON.stringify(composeNote(alice))
          return postActivity(gateway, alice, body, { digest: digestOf(body).replace('SHA', 'sha') })
        },
        expect: taken,
      },
    ],
  },
  {
    row: 'AP-17',
    title: 'a signed date that cannot be read',
    cases: [signedWith('yesterday', { date: 'yesterday' })],
    shownBy: titles('AP-17: the signed date "%s" cannot be read'),
  },
  {
    row: 'AP-18',
    title: 'a date outside of the window',
    cases: [-2, -13, 2].map(hours =>
      signedWith(
        `${hours} h`,
        ({ gateway }) => ({ date: new Date(gateway.platform.now() + hours * hour).toUTCString() }),
        {
          ...invalid,
          code: 'expired',
        },
      ),
    ),
    shownBy: titles(
      'AP-18: a clock that is %s ms away is within the window',
      'AP-18: the window is the configured one',
    ),
  },
  {
    row: 'AP-19',
    title: '(created) and (expires)',
    cases: [
      signedWith('without the parameter', {
        covered: [target, '(created)', 'host', 'digest'],
        parameters: { algorithm: 'hs2019' },
      }),
      signedWith(
        'a day old',
        stage => ({
          covered: [target, '(created)', 'host', 'digest'],
          parameters: { algorithm: 'hs2019', created: secondsOf(stage) - 86_400 },
        }),
        { ...invalid, code: 'expired' },
      ),
      signedWith(
        'over',
        stage => ({
          covered: [target, '(created)', '(expires)', 'host', 'digest'],
          parameters: { algorithm: 'hs2019', created: secondsOf(stage), expires: secondsOf(stage) - 1 },
        }),
        { ...invalid, code: 'expired' },
      ),
    ],
    shownBy: titles('an end in the past counts, %s'),
  },
  {
    row: 'AP-20',
    title: 'a parameter that is repeated',
    cases: [
      {
        title: 'two keys',
        send({ gateway, alice, mallory }) {
          const body = JSON.stringify(composeNote(alice))
          const headers = signHeaders(gateway, mallory, body, { path: '/agents/echo/inbox' })
          const signature = `keyId="${alice.keyId}",${headers.signature}`
          return postActivity(gateway, alice, body, { headers: { ...headers, signature } })
        },
        expect: invalid,
      },
    ],
  },
  {
    row: 'AP-21',
    title: 'an algorithm that is not the key’s',
    cases: ['rsa-sha1', 'hmac-sha256'].map(algorithm => signedWith(algorithm, { parameters: { algorithm } })),
    shownBy: titles('AP-21: the algorithm %s is refused'),
  },
  {
    row: 'AP-22',
    title: 'an algorithm that is not told, over RSA with SHA-256, is honest',
    cases: ['hs2019', undefined].map(algorithm =>
      signedWith(algorithm ?? 'none', { parameters: { algorithm } }, taken),
    ),
  },
]
