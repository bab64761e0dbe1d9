import type { IdentityEvidence } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { activityPubDescriptor } from './speaker.ts'

const { readAddress, identify } = activityPubDescriptor.speaker
const alice = { local: 'alice', domain: 'b.example' }

describe('an account', () => {
  test.each(['@Alice@b.example', 'acct:alice@b.example', 'https://b.example/@alice', 'https://b.example/@alice/'])(
    'has the name %s',
    text => {
      expect(readAddress?.(text, 'agents.test')).toEqual({ address: alice })
    },
  )

  test.each(['@alice', 'alice', 'alice@b.example', 'https://b.example/users/alice', '@a@b@c'])(
    'does not have the name %s',
    text => {
      expect(readAddress?.(text, 'agents.test')).toBeUndefined()
    },
  )

  test('is its actor', () => {
    const subject = 'https://b.example/users/alice'
    expect(identify?.(alice, { subject } as IdentityEvidence)).toBe(subject)
  })
})
