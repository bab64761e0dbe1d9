import type { Intake } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { limitsConfigSchema } from '../config/own-schema.ts'
import { createLimits } from '../http/clients/limits.ts'
import { createStorageRule } from '../storage/storage-rule.ts'
import { listAdmissionRules } from './resources.ts'

const agents = { desk: { allow: [{ issuer: 'friend.test' }], queue: 'merge' }, open: { queue: 'queue' } } as never
const limits = limitsConfigSchema.parse({ per_identity: 1 })

function openRules() {
  const rateLimits = createLimits(
    { limits, dev: false },
    () => 0,
    () => false,
  )
  return listAdmissionRules(
    { agents, limits },
    {
      limits: rateLimits,
      storage: createStorageRule({ limits, dev: false }, { check() {} }),
      answersCalls: via => via === 'calls',
    },
  )
}

const stranger = { address: '@stranger@b.test', auth_method: 'dkim', verified: true }

function applyRules(agent: string, via: string, rules = openRules()): Intake | string {
  const message = { kind: 'message', sender: stranger, received_via: via, parts: [] }
  let intake = { agent, message, disposition: 'answer', flags: ['from_agent'] } as unknown as Intake
  try {
    for (const rule of rules) {
      rule.count?.([intake], '192.0.2.1')
      intake = rule.admit?.(intake) ?? intake
    }
    return intake
  } catch (error) {
    return (error as { readonly code: string }).code
  }
}

test('listAdmissionRules() orders the rules: queue modes, access, rate limits, storage, loops', () => {
  expect(openRules().map(({ name }) => name)).toEqual(['queue modes', 'access', 'rate limits', 'storage', 'loops'])
})

test('the gateway refuses a sender without access every time, without spending their rate limit', () => {
  const rules = openRules()
  expect([applyRules('desk', 'calls', rules), applyRules('desk', 'calls', rules)]).toEqual(['forbidden', 'forbidden'])
  expect(applyRules('open', 'calls', rules)).toMatchObject({ agent: 'open' })
  expect(applyRules('open', 'calls', rules)).toBe('rate_limited')
})

test('a message that only the operator reads has a queue mode, but does not count as a turn for loop limits', () => {
  expect(applyRules('desk', 'letters')).toMatchObject({ disposition: 'keep', queueMode: expect.anything() })
  expect(applyRules('desk', 'letters')).not.toHaveProperty('loop')
  expect(applyRules('open', 'letters')).toMatchObject({ disposition: 'answer', loop: expect.anything() })
})
