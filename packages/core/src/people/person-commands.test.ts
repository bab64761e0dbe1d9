import { describe, expect, test } from 'vitest'
import type { NormalizedMessage } from '../message/message.ts'
import { codeLength, formatCode, readCode } from './person-code.ts'
import { readPersonCommand } from './person-commands.ts'
import { readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'

const said = (content: string, rest: object = {}) =>
  readPersonCommand({ parts: [{ kind: 'text', mime: 'text/plain', content }], ...rest } as unknown as NormalizedMessage)

describe('readPersonCommand()', () => {
  test.each([
    ['link alice@example.org', { name: 'link', address: 'alice@example.org' }],
    [' Link   @alice@mastodon.example\n', { name: 'link', address: '@alice@mastodon.example' }],
    ['link acct:a@b.example.', { name: 'link', address: 'acct:a@b.example' }],
    ['link https://b.example/@a', { name: 'link', address: 'https://b.example/@a' }],
    ['link @alice', { name: 'link', address: '@alice' }],
    ['unlink a@b.example', { name: 'unlink', address: 'a@b.example' }],
    ['confirm abcde-fghjk', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['confirm abcde fghjk', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['link ABCDEFGHJK', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['ABCDE-FGHJK', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: true }],
    ['linked', { name: 'linked' }],
    ['Forget me!', { name: 'forget' }],
    ['forget me\n-- \nAlice\nalice@example.org', { name: 'forget' }],
  ])('reads %j', (text, command) => {
    expect(said(text)).toEqual(command)
  })

  test.each([
    '',
    'link',
    'link me',
    'please link a@b.example',
    'link a@b.example and c@d.example',
    'unlinked',
    'confirm 01IOl-ABCDE',
    'ABCDEFGHJK',
    'never forget me',
    'forget me not',
    `link ${'a'.repeat(600)}@b.example`,
  ])('leaves %j to the agent', text => {
    expect(said(text)).toBeUndefined()
  })

  test('reads nothing beside a file, of two texts, or of what is no message', () => {
    const file = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://x.example/' } }
    const text = { kind: 'text', mime: 'text/plain', content: 'linked' }
    expect(said('', { parts: [text, file] })).toBeUndefined()
    expect(said('', { parts: [text, text] })).toBeUndefined()
    expect(said('linked', { kind: 'edit' })).toBeUndefined()
  })
})

test('a code has fifty bits, of letters nobody mistakes, and is read however it is typed', () => {
  const code = formatCode(Uint8Array.from({ length: codeLength }, (_, index) => index * 29))
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/)
  expect(readCode(` ${code.toLowerCase().replace('-', '')} `)).toBe(code)
  expect(readCode(`${code}A`)).toBeUndefined()
  expect(() => formatCode(new Uint8Array(9))).toThrow('a code takes 10 bytes')
})

test.each([
  ['alice@Example.ORG', 'email', '@alice@example.org', 'alice@example.org'],
  ['<mailto:alice@example.org>', 'email', '@alice@example.org', 'alice@example.org'],
  ['@Alice@b.example', 'activitypub', '@alice@b.example', '@alice@b.example'],
  ['acct:alice@b.example', 'activitypub', '@alice@b.example', '@alice@b.example'],
  ['https://b.example/@alice', 'activitypub', '@alice@b.example', '@alice@b.example'],
])('readPersonAddress() reads %s', (text, via, address, shown) => {
  const read = readPersonAddress(text)
  expect(read).toMatchObject({ via, address })
  expect(read && showPersonAddress(read)).toBe(shown)
})

test.each(['@alice', 'alice', 'a@localhost', 'https://b.example/users/alice', '@a@b@c'])(
  'readPersonAddress() takes %s for none',
  text => {
    expect(readPersonAddress(text)).toBeUndefined()
  },
)

describe('readPersonIdentity()', () => {
  const evidence = (subject: string, assurance = 'address', type = 'transport') => ({
    subject,
    assurance,
    proof: { type },
  })
  const message = (via: string, address: string, identities: object[], verified = true) =>
    ({ received_via: via, sender: { address, verified, identities } }) as unknown as NormalizedMessage

  test('an account is its actor, a mailbox itself', () => {
    const actor = 'https://b.example/users/alice'
    expect(readPersonIdentity(message('activitypub', '@Alice@b.example', [evidence(actor)]), [])).toEqual({
      via: 'activitypub',
      address: '@alice@b.example',
      subject: actor,
    })
    expect(readPersonIdentity(message('email', '@Alice@b.example', [evidence('mailto:Alice@b.example')]), [])).toEqual({
      via: 'email',
      address: '@alice@b.example',
      subject: 'mailto:alice@b.example',
    })
  })

  test.each([
    ['is not verified', message('email', '@a@b.example', [evidence('mailto:a@b.example')], false), []],
    ['has only a domain’s word', message('email', '@a@b.example', [evidence('b.example', 'domain')]), []],
    ['has another’s proof', message('email', '@a@b.example', [evidence('mailto:x@b.example')]), []],
    [
      'has only forwarded evidence',
      message('activitypub', '@a@b.example', [evidence('x', 'address', 'signed-attestation')]),
      [],
    ],
    ['has no confirmed name', message('activitypub', '@~unconfirmed@b.example', [evidence('https://b.example/1')]), []],
    ['calls over A2A', message('a2a', '@a@b.example', [evidence('a')]), []],
    ['is an agent', message('activitypub', '@a@b.example', [evidence('https://b.example/a')]), ['from_agent']],
    ['writes by a list', message('email', '@a@b.example', [evidence('mailto:a@b.example')]), ['by_list']],
  ])('is nobody who %s', (_, from, flags) => {
    expect(readPersonIdentity(from, flags)).toBeUndefined()
  })
})
