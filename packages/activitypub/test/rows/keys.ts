import { createPublicKey, randomBytes } from 'node:crypto'
import { testKey } from '../keys.ts'
import type { MessageOptions } from '../message-signer.ts'
import { signMessageHeaders } from '../message-signer.ts'
import type { PostAnswer } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { refused, taken, titlesOf, withoutEffect } from './row.ts'
import { invalid, signedWith } from './send.ts'

const titles = (...names: readonly string[]) => titlesOf('signatures', ...names)

/** An honest note, signed by RFC 9421 in another way. */
function messageSigned(title: string, options: MessageOptions, outcome: RowCase['expect'] = invalid): RowCase {
  return {
    title,
    send({ gateway, alice }) {
      const body = JSON.stringify(composeNote(alice))
      const headers = signMessageHeaders(gateway, alice, body, options)
      return postActivity(gateway, alice, body, { isUnsigned: true, headers })
    },
    expect: outcome,
  }
}

function postWithKey({ gateway, peer, alice }: Stage, publicKeyPem: string): Promise<PostAnswer> {
  peer.serve(alice.id, { body: { ...alice.document, publicKey: { id: alice.keyId, owner: alice.id, publicKeyPem } } })
  return postActivity(gateway, alice, composeNote(alice))
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

export const keys: readonly Row[] = [
  {
    row: 'AP-23',
    title: 'RFC 9421 outside of Mastodon’s profile',
    cases: [
      {
        title: 'two labels',
        send({ gateway, alice, mallory }) {
          const body = JSON.stringify(composeNote(alice))
          const one = signMessageHeaders(gateway, alice, body)
          const two = signMessageHeaders(gateway, mallory, body, { label: 'sig2' })
          const headers = {
            ...one,
            'signature-input': `${one['signature-input']}, ${two['signature-input']}`,
            signature: `${one.signature}, ${two.signature}`,
          }
          return postActivity(gateway, alice, body, { isUnsigned: true, headers })
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
    shownBy: titlesOf('message-signatures', 'AP-23: RFC 9421 is refused', 'with two labels'),
  },
  {
    row: 'AP-24',
    title: 'an invalid Signature-Input beside a valid old signature',
    cases: [signedWith('nonsense', { headers: { 'signature-input': 'nonsense' } })],
    shownBy: titlesOf('message-signatures', 'AP-24: beside a Signature-Input an old signature counts for nothing'),
  },
  {
    row: 'AP-25',
    title: 'a request made for another place',
    cases: [
      signedWith('the shared inbox', { target: 'post /inbox' }, { ...refused, code: 'signature_invalid' }),
      signedWith(
        'another host, which a proxy header confirms',
        { host: 'other.test', headers: { 'x-forwarded-host': 'other.test', forwarded: 'host=other.test' } },
        { ...refused, code: 'signature_invalid' },
      ),
    ],
    shownBy: titles('AP-25: a signature made %s does not fit here'),
  },
  {
    row: 'AP-26',
    title: 'the very same request again',
    cases: [
      {
        title: 'within the window',
        async send({ gateway, alice }) {
          const note = composeNote(alice)
          const date = new Date(gateway.platform.now()).toUTCString()
          await postActivity(gateway, alice, note, { date })
          gateway.platform.advance(50 * 60_000)
          return postActivity(gateway, alice, note, { date })
        },
        expect: taken,
      },
    ],
    shownBy: titles('AP-26: the very same request again is answered the same and handled once'),
  },
  {
    row: 'AP-27',
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
      ...titlesOf('message-signatures', 'AP-27: is no key of draft-cavage, whatever the algorithm is called'),
    ],
  },
  {
    row: 'AP-28',
    title: 'a peer that wants to be knocked at in the other way',
    shownBy: titlesOf(
      'double-knock',
      'comes after %s, by RFC 9421 and with the same bytes',
      'is not remembered of one who takes anything',
    ),
  },
  {
    row: 'AP-29',
    title: 'a peer that takes RFC 9421 and drops it later',
    shownBy: [
      ...titlesOf('double-knock', 'AP-29: the first knock is draft-cavage, which a server that checks later can read'),
      'apps/gateway/test/peers/personas.test.ts › the first knock is draft-cavage; RFC 9421 follows where that is refused, and comes first from then on',
    ],
  },
  {
    row: 'AP-30',
    title: 'a key that was changed',
    cases: [
      {
        title: 'is looked for once',
        async send({ gateway, peer, alice }) {
          await postActivity(gateway, alice, composeNote(alice))
          peer.forget()
          const renewed = settlePerson(peer, 'alice@good.test', { key: testKey('alice’s next') })
          return postActivity(gateway, renewed, composeNote(renewed))
        },
        expect: { status: 202, turns: 2, fetches: 1 },
      },
    ],
    shownBy: titles('AP-30: after a key was changed one look decides, and the look is not repeated for every failure'),
  },
  {
    row: 'AP-31',
    title: 'the farewell of an actor whose key is gone',
    cases: [410, 404].map(status => ({
      title: `${status}`,
      send({ gateway, peer, alice }: Stage) {
        peer.serve(alice.id, { status })
        const farewell = { id: `${alice.id}#delete`, type: 'Delete', actor: alice.id, object: alice.id }
        return postActivity(gateway, alice, farewell)
      },
      expect: { ...withoutEffect, fetches: 1 },
    })),
    shownBy: [
      ...titlesOf(
        'changes',
        'AP-31: an actor whose origin says 410 is forgotten at its farewell; one that is only missing is not',
      ),
      ...titlesOf(
        'gone-peers',
        'AP-31: an actor whose server says that it is gone is forgotten',
        'AP-31: an actor that is not found for a day follows no more; its words stay',
      ),
    ],
  },
]
