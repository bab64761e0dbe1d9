import type { IdentityEvidence } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { emailDescriptor } from './speaker.ts'

const { readAddress, identify, showAddress } = emailDescriptor.speaker
const alice = { local: 'alice', domain: 'example.org' }

describe('the address of a mailbox', () => {
  test.each(['alice@Example.ORG', 'mailto:alice@example.org', 'MAILTO:Alice@example.org'])('may be %s', text => {
    expect(readAddress?.(text, 'agents.test')).toEqual({ address: alice, subject: 'mailto:alice@example.org' })
  })

  test.each(['@alice@example.org', 'acct:alice@example.org', 'alice', 'a@localhost', 'https://b.example/@a'])(
    'may not be %s',
    text => {
      expect(readAddress?.(text, 'agents.test')).toBeUndefined()
    },
  )

  test('is its own principal in lower case, if the proof is for the same address', () => {
    const evidence = (subject: string) => ({ subject }) as IdentityEvidence
    expect(identify?.(alice, evidence('mailto:Alice@example.org'))).toBe('mailto:alice@example.org')
    expect(identify?.(alice, evidence('mailto:eve@example.org'))).toBeUndefined()
    expect(identify?.(alice, evidence('example.org'))).toBeUndefined()
  })

  test('appears without the first @', () => {
    expect(showAddress?.('@alice@example.org')).toBe('alice@example.org')
  })
})
