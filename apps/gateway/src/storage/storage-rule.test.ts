import type { IdentityEvidence } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { limitsConfigSchema } from '../config/own-schema.ts'
import { createStorageRule } from './storage-rule.ts'

const rule = createStorageRule(
  { limits: limitsConfigSchema.parse({ stored: { per_identity: 10, per_unverified: 1 } }), dev: false },
  { check() {} } as unknown as Parameters<typeof createStorageRule>[1],
)

function readQuota(address: string, people: readonly string[] = [], verified = true) {
  const identities = people.map(
    subject => ({ issuer: 'slack.test', subject, proof: { type: 'signed-attestation' } }) as IdentityEvidence,
  )
  const intake = { message: { received_via: 'a2a', sender: { address, verified, identities } } } as unknown as Intake
  return rule.admitPeer?.(intake)?.storage
}

test('the quota counts each person behind a connector separately', () => {
  const [quota, otherQuota, repeatedQuota] = ['U1', 'U2', 'U1'].map(person =>
    readQuota('@slack@connector.test', [person]),
  )
  expect(quota).toEqual(repeatedQuota)
  expect(quota?.sender).not.toBe(otherQuota?.sender)
  expect(quota?.sender).not.toBe(readQuota('@slack@connector.test')?.sender)
  expect(quota).toMatchObject({ isProven: true, maxBytes: 10, sender: expect.stringMatching(/^[\w-]{43}$/) })
})

test('evidence about others does not change the quota of an unproven sender', () => {
  const [quota, otherQuota] = ['U1', 'U2'].map(person => readQuota('@slack@connector.test', [person], false))
  expect(quota).toEqual(otherQuota)
  expect(quota).toMatchObject({ isProven: false, maxBytes: 1 })
})
