import type { RequirementRecord } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { checkReceipt, planDecision } from './decide.ts'

type Asked = Pick<RequirementRecord, 'digest' | 'kind' | 'policy'>

const createRequirement = (kind: RequirementRecord['kind'], overrides: object = {}): Asked => ({
  digest: 'd',
  kind,
  policy: { kind, message: 'May I?', ...overrides },
})
const asked = {
  consent: createRequirement('consent_required'),
  payment: createRequirement('payment_required'),
  identity: createRequirement('unauthorized'),
  'consent of an operator': createRequirement('consent_required', { approver: 'operator' }),
  // Only a call can wait for an operator. On other requirements the member has no effect.
  'identity, by an agent that names an operator': createRequirement('unauthorized', { approver: 'operator' }),
} as const
const methods = ['link', 'principal', 'receipt', 'operator'] as const

/** The methods that may grant each requirement. Everybody may decline. */
const granted: Readonly<Record<keyof typeof asked, readonly (typeof methods)[number][]>> = {
  consent: ['link', 'principal'],
  payment: ['receipt', 'operator'],
  identity: ['operator'],
  'consent of an operator': ['link', 'operator'],
  'identity, by an agent that names an operator': ['operator'],
}

describe.each(Object.keys(asked) as (keyof typeof asked)[])('a decision on %s', what => {
  test.each(methods)('by %s counts as in the table', method => {
    const grant = () => planDecision(asked[what], { method, outcome: 'granted' })
    if (granted[what].includes(method)) expect(grant()).toMatchObject({ outcome: 'granted', resolver: { method } })
    else expect(grant).toThrow(`Cannot decide: "${asked[what].kind}" is not granted this way`)
    const remember = () => planDecision(asked[what], { method, outcome: 'declined', remember: 'always' })
    if (granted[what].includes(method)) expect(remember()).toMatchObject({ outcome: 'declined', remember: 'always' })
    else expect(remember).toThrow('Cannot decide: only the party that is asked may have the decision remembered')
    expect(planDecision(asked[what], { method, outcome: 'declined' })).toMatchObject({ outcome: 'declined' })
  })
})

test('a receipt only pays a payment, and only with a provider', async () => {
  const requirement = (kind: RequirementRecord['kind']) =>
    ({ ...createRequirement(kind), id: 'r' }) as unknown as RequirementRecord
  await expect(checkReceipt(requirement('unauthorized'), 'receipt', { provider: undefined })).rejects.toThrow(
    'Cannot take receipt: "unauthorized" is not paid for',
  )
  await expect(checkReceipt(requirement('payment_required'), 'receipt', { provider: undefined })).rejects.toThrow(
    'Cannot take receipt: there is no payment provider here',
  )
})
