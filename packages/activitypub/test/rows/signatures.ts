import { createHash, createPublicKey, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { testKey } from '../keys.ts'
import type { MessageOptions } from '../message-signer.ts'
import { signMessageHeaders } from '../message-signer.ts'
import type { PostAnswer, PostOptions } from '../person.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { refused, taken, titlesOf, withoutEffect } from './row.ts'

const titles = (...names: readonly string[]) => titlesOf('signatures', ...names)
const target = '(request-target)'
const hour = 3_600_000
const invalid = { ...refused, code: 'signature_invalid', fetches: 0 } as const
const secondsOf = ({ house }: Stage) => Math.floor(house.world.now() / 1_000)
const digestOf = (text: string) => `SHA-256=${createHash('sha256').update(text).digest('base64')}`

/** An honest note, signed in another way. */
function signedWith(
  title: string,
  options: PostOptions | ((stage: Stage) => PostOptions),
  outcome: RowCase['expect'] = invalid,
): RowCase {
  return {
    title,
    send: stage =>
      postActivity(
        stage.house,
        stage.alice,
        composeNote(stage.alice),
        typeof options === 'function' ? options(stage) : options,
      ),
    expect: outcome,
  }
}

/** An honest note, signed by RFC 9421 in another way. */
function messageSigned(title: string, options: MessageOptions, outcome: RowCase['expect'] = invalid): RowCase {
  return {
    title,
    send({ house, alice }) {
      const body = JSON.stringify(composeNote(alice))
      const headers = signMessageHeaders(house, alice, body, options)
      return postActivity(house, alice, body, { isUnsigned: true, headers })
    },
    expect: outcome,
  }
}

function postWithKey({ house, peer, alice }: Stage, publicKeyPem: string): Promise<PostAnswer> {
  peer.serve(alice.id, { body: { ...alice.document, publicKey: { id: alice.keyId, owner: alice.id, publicKeyPem } } })
  return postActivity(house, alice, composeNote(alice))
}

/** Of this many bits, and nobody's: what counts is how long it would take to verify with it. */
function composeRsaPem(bits: number): string {
  const modulus = randomBytes(bits / 8)
  modulus[0] = 0xc0
  modulus[modulus.length - 1] = 0x0d
  const key = createPublicKey({ key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' }, format: 'jwk' })
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

function toPkcs1(spki: string): string {
  return createPublicKey(spki).export({ type: 'pkcs1', format: 'pem' }).toString()
}

export const signatures: readonly Row[] = [
  {
    row: 13,
    title: 'no signature',
    cases: [
      {
        ...signedWith('at all', { isUnsigned: true }, { ...refused, code: 'unsigned', fetches: 0 }),
        async after(_, { headers }) {
          expect(headers.get('accept-signature')).toContain('"@method" "@target-uri" "content-digest"')
        },
      },
    ],
    shownBy: titlesOf('message-signatures', '13: tells who did not sign how to'),
  },
  {
    row: 14,
    title: 'a signature that covers too little',
    cases: [
      signedWith('the date alone', { covered: ['date'] }),
      signedWith('the host alone', { covered: ['host'] }),
      signedWith('no time', { covered: [target, 'host', 'digest'] }),
    ],
    shownBy: titles('14: a signature that covers %s is refused', '14: the header list left out covers too little'),
  },
  {
    row: 15,
    title: 'a digest that says nothing of the body',
    cases: [
      signedWith('none', { digest: '' }),
      signedWith('of another body', { digest: digestOf('another') }),
      signedWith('not signed', { covered: [target, 'host', 'date'] }),
      {
        title: 'two, one of them right',
        send({ house, alice }) {
          const body = JSON.stringify(composeNote(alice))
          return postActivity(house, alice, body, { digest: `${digestOf('another')},${digestOf(body)}` })
        },
        expect: invalid,
      },
    ],
    shownBy: titles('that %s is refused', 'of two, both must be right: %s'),
  },
  {
    row: 16,
    title: 'a digest named in lower case is honest',
    cases: [
      {
        title: 'sha-256',
        send({ house, alice }) {
          const body = JSON.stringify(composeNote(alice))
          return postActivity(house, alice, body, { digest: digestOf(body).replace('SHA', 'sha') })
        },
        expect: taken,
      },
    ],
  },
  {
    row: 17,
    title: 'a signed date that cannot be read',
    cases: [signedWith('yesterday', { date: 'yesterday' })],
    shownBy: titles('17: the signed date "%s" cannot be read'),
  },
  {
    row: 18,
    title: 'a date outside of the window',
    cases: [-2, -13, 2].map(hours =>
      signedWith(`${hours} h`, ({ house }) => ({ date: new Date(house.world.now() + hours * hour).toUTCString() }), {
        ...invalid,
        code: 'expired',
      }),
    ),
    shownBy: titles('18: a clock that is %s ms away is within the window', '18: the window is the configured one'),
  },
  {
    row: 19,
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
    row: 20,
    title: 'a parameter that is repeated',
    cases: [
      {
        title: 'two keys',
        send({ house, alice, mallory }) {
          const body = JSON.stringify(composeNote(alice))
          const headers = signHeaders(house, mallory, body, { path: '/agents/echo/inbox' })
          const signature = `keyId="${alice.keyId}",${headers.signature}`
          return postActivity(house, alice, body, { headers: { ...headers, signature } })
        },
        expect: invalid,
      },
    ],
  },
  {
    row: 21,
    title: 'an algorithm that is not the key’s',
    cases: ['rsa-sha1', 'hmac-sha256'].map(algorithm => signedWith(algorithm, { parameters: { algorithm } })),
    shownBy: titles('21: the algorithm %s is refused'),
  },
  {
    row: 22,
    title: 'an algorithm that is not told, over RSA with SHA-256, is honest',
    cases: ['hs2019', undefined].map(algorithm =>
      signedWith(algorithm ?? 'none', { parameters: { algorithm } }, taken),
    ),
  },
  {
    row: 23,
    title: 'RFC 9421 outside of Mastodon’s profile',
    cases: [
      {
        title: 'two labels',
        send({ house, alice, mallory }) {
          const body = JSON.stringify(composeNote(alice))
          const one = signMessageHeaders(house, alice, body)
          const two = signMessageHeaders(house, mallory, body, { label: 'sig2' })
          const headers = {
            ...one,
            'signature-input': `${one['signature-input']}, ${two['signature-input']}`,
            signature: `${one.signature}, ${two.signature}`,
          }
          return postActivity(house, alice, body, { isUnsigned: true, headers })
        },
        expect: invalid,
      },
      messageSigned('no time', { parameters: { created: undefined } }),
      messageSigned('no digest', { covered: ['@method', '@target-uri'] }),
      messageSigned('HMAC', { parameters: { alg: 'hmac-sha256' } }),
      messageSigned('a parameter nobody knows', { parameters: { depth: 1 } }),
      messageSigned(
        'a component nobody knows',
        { covered: ['@method', '@target-uri', 'content-digest', '@status'], values: { '@status': '200' } },
        { ...refused, code: 'signature_invalid' },
      ),
      messageSigned(
        'the address of another',
        { values: { '@target-uri': 'https://other.test/inbox' } },
        { ...refused, code: 'signature_invalid' },
      ),
    ],
    shownBy: titlesOf('message-signatures', '23: RFC 9421 is refused', 'with two labels'),
  },
  {
    row: 24,
    title: 'an invalid Signature-Input beside a valid old signature',
    cases: [signedWith('nonsense', { headers: { 'signature-input': 'nonsense' } })],
    shownBy: titlesOf('message-signatures', '24: beside a Signature-Input an old signature counts for nothing'),
  },
  {
    row: 25,
    title: 'a request made for another place',
    cases: [
      signedWith('the shared inbox', { target: 'post /inbox' }, { ...refused, code: 'signature_invalid' }),
      signedWith(
        'another host, which a proxy header confirms',
        { host: 'other.test', headers: { 'x-forwarded-host': 'other.test', forwarded: 'host=other.test' } },
        { ...refused, code: 'signature_invalid' },
      ),
    ],
    shownBy: titles('25: a signature made %s does not fit here'),
  },
  {
    row: 26,
    title: 'the very same request again',
    cases: [
      {
        title: 'within the window',
        async send({ house, alice }) {
          const note = composeNote(alice)
          const date = new Date(house.world.now()).toUTCString()
          await postActivity(house, alice, note, { date })
          house.world.advance(50 * 60_000)
          return postActivity(house, alice, note, { date })
        },
        expect: taken,
      },
    ],
    shownBy: titles('26: the very same request again is answered the same and handled once'),
  },
  {
    row: 27,
    title: 'odd keys',
    cases: [
      {
        title: 'garbage',
        send: stage => postWithKey(stage, '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'),
        expect: { ...refused, code: 'signer_mismatch' },
      },
      {
        title: 'PKCS#1, which is honest',
        send: stage => postWithKey(stage, toPkcs1(stage.alice.key.publicPem)),
        expect: taken,
      },
      ...[512, 16_384].map(bits => ({
        title: `${bits} bits`,
        send: (stage: Stage) => postWithKey(stage, composeRsaPem(bits)),
        expect: { ...refused, code: 'signer_mismatch' },
      })),
    ],
    shownBy: [
      ...titles('%s proves nothing'),
      ...titlesOf('message-signatures', '27: is no key of draft-cavage, whatever the algorithm is called'),
    ],
  },
  {
    row: 28,
    title: 'a peer that wants to be knocked at in the other way',
    shownBy: titlesOf(
      'double-knock',
      'comes after %s, by RFC 9421 and with the same bytes',
      'is not remembered of one who takes anything',
    ),
  },
  {
    row: 29,
    title: 'a peer that takes RFC 9421 and drops it later',
    shownBy: [
      ...titlesOf('double-knock', '29: the first knock is draft-cavage, which a server that checks later can read'),
      'apps/gateway/test/peers/personas.test.ts › the first knock is draft-cavage; RFC 9421 follows where that is refused, and comes first from then on',
    ],
  },
  {
    row: 30,
    title: 'a key that was changed',
    cases: [
      {
        title: 'is looked for once',
        async send({ house, peer, alice }) {
          await postActivity(house, alice, composeNote(alice))
          peer.forget()
          const renewed = settlePerson(peer, 'alice@good.test', { key: testKey('alice’s next') })
          return postActivity(house, renewed, composeNote(renewed))
        },
        expect: { status: 202, turns: 2, fetches: 1 },
      },
    ],
    shownBy: titles('30: after a key was changed one look decides, and the look is not repeated for every failure'),
  },
  {
    row: 31,
    title: 'the farewell of an actor whose key is gone',
    cases: [410, 404].map(status => ({
      title: `${status}`,
      send({ house, peer, alice }: Stage) {
        peer.serve(alice.id, { status })
        const farewell = { id: `${alice.id}#delete`, type: 'Delete', actor: alice.id, object: alice.id }
        return postActivity(house, alice, farewell)
      },
      expect: { ...withoutEffect, fetches: 1 },
    })),
    shownBy: [
      ...titlesOf(
        'changes',
        '31: an actor whose origin says 410 is forgotten at its farewell; one that is only missing is not',
      ),
      ...titlesOf(
        'gone-peers',
        '31: an actor whose server says that it is gone is forgotten',
        '31: an actor that is not found for a day follows no more; its words stay',
      ),
    ],
  },
]
