import type { Desk, Intake } from '@postern/core'
import { expect, test } from 'vitest'
import { createLimits } from './limits.ts'

const limits = createLimits({ limits: { per_address: 1, per_host: 2, per_identity: 1 }, dev: false }, () => 0)
const desk = limits.guardDesk({ admit: async () => ({ outcome: 'accepted', message: 1 }) } as unknown as Desk)

async function admit(address: string, verified: boolean): Promise<string> {
  const intake = { message: { received_via: 'email', sender: { address, verified } } } as Intake
  return desk.admit(intake, '').then(
    ({ outcome }) => outcome,
    error => error.code,
  )
}

test('all addresses of one IPv6 network are one peer', () => {
  limits.takeAddress('2001:db8::1')
  expect(() => limits.takeAddress('2001:db8::2')).toThrow(
    expect.objectContaining({ code: 'rate_limited', message: 'Cannot take request: too many in a short time' }),
  )
  expect(() => limits.takeAddress('2001:db8:0:1::1')).not.toThrow()
})

test('whoever claims a name without proof does not use up what its owner may send', async () => {
  expect(await admit('@alice@good.test', false)).toBe('accepted')
  expect(await admit('@alice@good.test', false)).toBe('rate_limited')
  expect(await admit('@alice@good.test', true)).toBe('accepted')
  expect(await admit('@alice@good.test', true)).toBe('rate_limited')
})
