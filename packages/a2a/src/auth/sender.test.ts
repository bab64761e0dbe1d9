import type { IdentityEvidence } from '@postern/message'
import { expect, test } from 'vitest'
import { readProfile } from './sender.ts'

function evidence(claims?: Record<string, unknown>): IdentityEvidence {
  return {
    subject: 'slack:T123/U456',
    issuer: 'slack.test',
    method: 'urn:mentionable:auth:slack-workspace-member:v0.1',
    assurance: 'platform',
    audience: '@desk@agents.test',
    issued_at: '2026-01-01T00:00:00.000Z',
    ...(claims && { claims }),
    proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1' },
  }
}

const provider_subject = 'slack:T123/U456'

test('the sender takes the profile from the first evidence that has one (MN-2.2)', () => {
  const profile = { display_name: 'Ann', username: 'ann', locale: 'de', timezone: 'Europe/Vienna' }
  const allEvidence = [
    evidence(),
    evidence({ profile, platform: { provider: 'slack' } }),
    evidence({ profile: { display_name: 'Eve' } }),
  ]
  expect(readProfile(allEvidence)).toEqual({ ...profile, provider: 'slack', provider_subject })
})

test('the sender has no profile without evidence for it (MN-2.2)', () => {
  expect(readProfile([])).toBe(undefined)
  expect(readProfile([evidence(), evidence({ profile: 'Ann' })])).toBe(undefined)
})

test('the sender takes only short one-line texts from a profile, and the subject from the evidence (MN-2.2)', () => {
  const profile = {
    display_name: `A\nnn${'n'.repeat(300)}`,
    username: 7,
    locale: '\u0000',
    provider_subject: 'slack:T9/U9',
    extra: 'x',
  }
  expect(readProfile([evidence({ profile })])).toEqual({ display_name: `A nn${'n'.repeat(196)}`, provider_subject })
})
