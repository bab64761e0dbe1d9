import { describe, expect, test } from 'vitest'
import { accounts, describeChannel, mailboxes } from '../../test/channels.ts'
import type { NormalizedMessage } from '../message/message.ts'
import { codeLength, formatCode, readCode, readPersonCommand } from './person-commands.ts'
import { readChannelAddress, readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'

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

  test('reads nothing from a message with a file, with two texts or without a text', () => {
    const file = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://x.example/' } }
    const text = { kind: 'text', mime: 'text/plain', content: 'linked' }
    expect(said('', { parts: [text, file] })).toBeUndefined()
    expect(said('', { parts: [text, text] })).toBeUndefined()
    expect(said('linked', { kind: 'edit' })).toBeUndefined()
  })
})

test('a code has fifty bits and no ambiguous letters, and the reader accepts it however a person types it', () => {
  const code = formatCode(Uint8Array.from({ length: codeLength }, (_, index) => index * 29))
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/)
  expect(readCode(` ${code.toLowerCase().replace('-', '')} `)).toBe(code)
  expect(readCode(`${code}A`)).toBeUndefined()
  expect(() => formatCode(new Uint8Array(9))).toThrow('a code takes 10 bytes')
})

const channels = [
  { descriptor: describeChannel('accounts', { speaker: accounts }) },
  { descriptor: describeChannel('mailboxes', { speaker: mailboxes }) },
  { descriptor: describeChannel('calls') },
]

test.each([
  ['alice@Example.ORG', 'mailboxes', '@alice@example.org', 'alice@example.org'],
  ['<alice@example.org>', 'mailboxes', '@alice@example.org', 'alice@example.org'],
  ['@Alice@b.example', 'accounts', '@alice@b.example', '@alice@b.example'],
])('readPersonAddress() reads %s by the rules of the first channel that takes it', (text, via, address, shown) => {
  const read = readPersonAddress(text, channels)
  expect(read).toMatchObject({ via, address })
  expect(read && showPersonAddress(read, channels)).toBe(shown)
})

test('readPersonAddress() takes for none what no channel takes', () => {
  expect(readPersonAddress('alice', channels)).toBeUndefined()
  expect(readPersonAddress('alice@example.org', channels.slice(0, 1))).toBeUndefined()
})

test.each([
  ['@Alice@example.org', 'accounts', { address: '@alice@example.org' }],
  ['alice@example.org', 'accounts', { address: '@alice@example.org' }],
  ['@Alice@example.org', 'mailboxes', { address: '@alice@example.org', subject: 'box:alice@example.org' }],
  ['alice@example.org', 'calls', { address: '@alice@example.org' }],
])('readChannelAddress() reads %s as an address of the channel "%s"', (text, via, read) => {
  expect(readChannelAddress(text, via, channels)).toEqual({ via, ...read })
})

test('readChannelAddress() takes for none what is no address, or of a channel that is not there', () => {
  expect(readChannelAddress('alice', 'calls', channels)).toBeUndefined()
  expect(readChannelAddress('@alice@example.org', 'pigeons', channels)).toBeUndefined()
})

describe('readPersonIdentity()', () => {
  const evidence = (subject: string, assurance = 'address', type = 'transport') => ({
    subject,
    assurance,
    proof: { type },
  })
  const message = (via: string, address: string, identities: object[], verified = true) =>
    ({ received_via: via, sender: { address, verified, identities } }) as unknown as NormalizedMessage

  test('returns the address, and the principal that the channel finds proven', () => {
    const said = message('accounts', '@Alice@b.example', [evidence('https://b.example/users/alice')])
    expect(readPersonIdentity(said, [], channels)).toEqual({
      via: 'accounts',
      address: '@alice@b.example',
      subject: 'https://b.example/users/alice',
    })
  })

  test.each([
    ['is not verified', message('mailboxes', '@a@b.example', [evidence('box:a@b.example')], false), []],
    ['has only a domain’s word', message('mailboxes', '@a@b.example', [evidence('b.example', 'domain')]), []],
    ['has another’s proof', message('mailboxes', '@a@b.example', [evidence('box:x@b.example')]), []],
    ['has only forwarded evidence', message('accounts', '@a@b.example', [evidence('x', 'address', 'bearer')]), []],
    ['has no confirmed name', message('accounts', '@~unconfirmed@b.example', [evidence('https://b.example/1')]), []],
    ['comes by a channel without such rules', message('calls', '@a@b.example', [evidence('a')]), []],
    ['comes by a channel that is gone', message('fax', '@a@b.example', [evidence('a')]), []],
    ['is an agent', message('accounts', '@a@b.example', [evidence('https://b.example/a')]), ['from_agent']],
    ['writes by a list', message('mailboxes', '@a@b.example', [evidence('box:a@b.example')]), ['by_list']],
  ])('is nobody who %s', (_, from, flags) => {
    expect(readPersonIdentity(from, flags, channels)).toBeUndefined()
  })
})
