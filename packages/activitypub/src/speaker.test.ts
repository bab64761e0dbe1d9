import type { IdentityEvidence } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { activityPubDescriptor } from './speaker.ts'

const { readAddress, identify } = activityPubDescriptor.speaker
const alice = { local: 'alice', domain: 'b.example' }

describe('the speaker rules of ActivityPub', () => {
  test.each(['@Alice@b.example', 'acct:alice@b.example', 'https://b.example/@alice', 'https://b.example/@alice/'])(
    'read %s as the address of an account',
    address => {
      expect(readAddress?.(address, 'agents.test')).toEqual({ address: alice })
    },
  )

  test.each(['@alice', 'alice', 'alice@b.example', 'https://b.example/users/alice', '@a@b@c'])(
    'do not read %s as the address of an account',
    address => {
      expect(readAddress?.(address, 'agents.test')).toBeUndefined()
    },
  )

  test('identify an account by the IRI of its actor', () => {
    const subject = 'https://b.example/users/alice'
    expect(identify?.(alice, { subject } as IdentityEvidence)).toBe(subject)
  })
})
