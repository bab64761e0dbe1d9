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

function describeBy(sender: Partial<NormalizedMessage['sender']>, flags: readonly string[] = [], agent = 'echo') {
  const content = message({ sender: { ...alice, ...sender } })
  return describeSender({ agent, content, flags }, [
    { descriptor: describeChannel('activitypub', { speaker: accounts }) },
  ])
}

describe('describeSender()', () => {
  test('gives one key to a principal in any case of its address, and separate keys for each agent', () => {
    const described = describeBy({})
    expect(described).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      addresses: [{ via: 'activitypub', address: '@alice@peer.test' }],
    })
    expect(describeBy({ address: '@Alice@Peer.test' })?.id).toBe(described?.id)
    expect(described?.id).toBe(
      keyOfPerson('echo', { via: 'activitypub', address: '@x@y.test', subject: transportEvidence.subject }),
    )
    expect(describeBy({}, [], 'help')?.id).not.toBe(described?.id)
  })

  test('distinguishes a later owner of an address', () => {
    const identities = [{ ...transportEvidence, subject: 'https://peer.test/users/alice-2' }]
    expect(describeBy({ identities })?.id).not.toBe(describeBy({})?.id)
  })

  test('gives no key without a proof', () => {
    expect(describeBy({ verified: false, auth_method: 'none', identities: [] })).toBeUndefined()
  })

  test('gives separate keys to relayed messages, and to callers whom an issuer names', () => {
    const byList = describeBy({}, ['by_list'])
    const issued = { ...transportEvidence, assurance: 'oauth', subject: 'client-1', issuer: 'https://id.test' }
    const [caller, another] = ['client-1', 'client-2'].map(subject =>
      describeBy({ identities: [{ ...issued, subject }] }),
    )
    const keys = [describeBy({})?.id, byList?.id, caller?.id, another?.id]
    expect(new Set(keys).size).toBe(4)
    expect(keys).not.toContain(undefined)
    expect(describeBy({ identities: [issued] })?.id).toBe(caller?.id)
  })

  test('distinguishes users of a domain that vouches for all of them, by their addresses', () => {
    const vouched = { ...transportEvidence, assurance: 'domain', subject: 'peer.test' }
    const keys = ['@alice@peer.test', '@bob@peer.test'].map(
      address => describeBy({ address, identities: [vouched] })?.id,
    )
    expect(new Set(keys).size).toBe(2)
  })
})
