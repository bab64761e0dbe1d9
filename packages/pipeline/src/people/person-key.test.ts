import type { NormalizedMessage } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { accounts, describeChannel } from '../../test/channels.ts'
import { message, transportEvidence } from '../../test/messages.ts'
import { describeSender, keyOfPerson } from './person-key.ts'

const alice: NormalizedMessage['sender'] = {
  address: '@alice@peer.test',
  auth_method: 'ap-http-signature',
  verified: true,
  identities: [transportEvidence],
}

function describeAlice(sender: Partial<NormalizedMessage['sender']>, flags: readonly string[] = [], agent = 'echo') {
  const content = message({ sender: { ...alice, ...sender } })
  return describeSender({ agent, content, flags }, [
    { descriptor: describeChannel('activitypub', { speaker: accounts }) },
  ])
}

describe('describeSender()', () => {
  test('gives one key to a principal in any case of its address, and separate keys for each agent', () => {
    const alicePerson = describeAlice({})
    expect(alicePerson).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      addresses: [{ via: 'activitypub', address: '@alice@peer.test' }],
    })
    expect(describeAlice({ address: '@Alice@Peer.test' })?.id).toBe(alicePerson?.id)
    expect(alicePerson?.id).toBe(
      keyOfPerson('echo', { via: 'activitypub', address: '@x@y.test', subject: transportEvidence.subject }),
    )
    expect(describeAlice({}, [], 'help')?.id).not.toBe(alicePerson?.id)
  })

  test('distinguishes a later owner of an address', () => {
    const identities = [{ ...transportEvidence, subject: 'https://peer.test/users/alice-2' }]
    expect(describeAlice({ identities })?.id).not.toBe(describeAlice({})?.id)
  })

  test('gives no key without a proof', () => {
    expect(describeAlice({ verified: false, auth_method: 'none', identities: [] })).toBeUndefined()
  })

  test('gives separate keys to messages from a mailing list, and to callers with a token', () => {
    const listPerson = describeAlice({}, ['by_list'])
    const issuedIdentity = { ...transportEvidence, assurance: 'oauth', subject: 'client-1', issuer: 'https://id.test' }
    const [caller, another] = ['client-1', 'client-2'].map(subject =>
      describeAlice({ identities: [{ ...issuedIdentity, subject }] }),
    )
    const keys = [describeAlice({})?.id, listPerson?.id, caller?.id, another?.id]
    expect(new Set(keys).size).toBe(4)
    expect(keys).not.toContain(undefined)
    expect(describeAlice({ identities: [issuedIdentity] })?.id).toBe(caller?.id)
  })

  test('distinguishes users by their addresses if only their whole domain is proven', () => {
    const domainIdentity = { ...transportEvidence, assurance: 'domain', subject: 'peer.test' }
    const keys = ['@alice@peer.test', '@bob@peer.test'].map(
      address => describeAlice({ address, identities: [domainIdentity] })?.id,
    )
    expect(new Set(keys).size).toBe(2)
  })
})
