import type { NormalizedMessage } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { accounts, describeChannel, mailboxes } from '../../test/channels.ts'
import { readChannelAddress, readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'

const channels = [
  { descriptor: describeChannel('accounts', { speaker: accounts }) },
  { descriptor: describeChannel('mailboxes', { speaker: mailboxes }) },
  { descriptor: describeChannel('calls') },
]

test.each([
  ['alice@Example.ORG', 'mailboxes', '@alice@example.org', 'alice@example.org'],
  ['<alice@example.org>', 'mailboxes', '@alice@example.org', 'alice@example.org'],
  ['@Alice@b.example', 'accounts', '@alice@b.example', '@alice@b.example'],
])('readPersonAddress() parses %s by the rules of the first channel that accepts it', (text, via, address, shown) => {
  const personAddress = readPersonAddress(text, channels)
  expect(personAddress).toMatchObject({ via, address })
  expect(personAddress && showPersonAddress(personAddress, channels)).toBe(shown)
})

test('readPersonAddress() rejects an address that no channel accepts', () => {
  expect(readPersonAddress('alice', channels)).toBeUndefined()
  expect(readPersonAddress('alice@example.org', channels.slice(0, 1))).toBeUndefined()
})

test.each([
  ['@Alice@example.org', 'accounts', { address: '@alice@example.org' }],
  ['alice@example.org', 'accounts', { address: '@alice@example.org' }],
  ['@Alice@example.org', 'mailboxes', { address: '@alice@example.org', subject: 'box:alice@example.org' }],
  ['alice@example.org', 'calls', { address: '@alice@example.org' }],
])('readChannelAddress() parses %s as an address of the channel "%s"', (text, via, read) => {
  expect(readChannelAddress(text, via, channels)).toEqual({ via, ...read })
})

test('readChannelAddress() rejects an invalid address, and an unknown channel', () => {
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

  test('returns the address, and the principal that the channel has proven', () => {
    const provenMessage = message('accounts', '@Alice@b.example', [evidence('https://b.example/users/alice')])
    expect(readPersonIdentity(provenMessage, [], channels)).toEqual({
      via: 'accounts',
      address: '@alice@b.example',
      subject: 'https://b.example/users/alice',
    })
  })

  test.each([
    ['is not verified', message('mailboxes', '@a@b.example', [evidence('box:a@b.example')], false), []],
    ['has proof only of a whole domain', message('mailboxes', '@a@b.example', [evidence('b.example', 'domain')]), []],
    ['has proof of another address', message('mailboxes', '@a@b.example', [evidence('box:x@b.example')]), []],
    ['has only forwarded evidence', message('accounts', '@a@b.example', [evidence('x', 'address', 'bearer')]), []],
    ['has no confirmed name', message('accounts', '@~unconfirmed@b.example', [evidence('https://b.example/1')]), []],
    ['writes over a channel without speaker rules', message('calls', '@a@b.example', [evidence('a')]), []],
    ['writes over a closed channel', message('fax', '@a@b.example', [evidence('a')]), []],
    ['is an agent', message('accounts', '@a@b.example', [evidence('https://b.example/a')]), ['from_agent']],
    ['writes through a mailing list', message('mailboxes', '@a@b.example', [evidence('box:a@b.example')]), ['by_list']],
  ])('returns no identity for a sender who %s', (_, from, flags) => {
    expect(readPersonIdentity(from, flags, channels)).toBeUndefined()
  })
})
