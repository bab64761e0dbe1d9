import type { IdentityEvidence } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { limitsConfigSchema } from '../config/own-schema.ts'
import { createStorageRule } from './storage-rule.ts'

const rule = createStorageRule(
  { limits: limitsConfigSchema.parse({ stored: { per_identity: 10, per_unverified: 1 } }), dev: false },
  { check() {} } as unknown as Parameters<typeof createStorageRule>[1],
)

function quotaOf(address: string, people: readonly string[] = [], verified = true) {
  const identities = people.map(
    subject => ({ issuer: 'slack.test', subject, proof: { type: 'signed-attestation' } }) as IdentityEvidence,
  )
  const intake = { message: { received_via: 'a2a', sender: { address, verified, identities } } } as unknown as Intake
  return rule.admitPeer?.(intake)?.storage
}

test('the quota counts each person behind a connector separately', () => {
  const [one, other, repeated] = ['U1', 'U2', 'U1'].map(person => quotaOf('@slack@connector.test', [person]))
  expect(one).toEqual(repeated)
  expect(one?.sender).not.toBe(other?.sender)
  expect(one?.sender).not.toBe(quotaOf('@slack@connector.test')?.sender)
  expect(one).toMatchObject({ isProven: true, maxBytes: 10, sender: expect.stringMatching(/^[\w-]{43}$/) })
})

test('evidence about others does not change the quota of an unproven sender', () => {
  const [one, other] = ['U1', 'U2'].map(person => quotaOf('@slack@connector.test', [person], false))
  expect(one).toEqual(other)
  expect(one).toMatchObject({ isProven: false, maxBytes: 1 })
})
