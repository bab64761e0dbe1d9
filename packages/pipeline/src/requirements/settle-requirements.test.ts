import type { NormalizedMessage, Part, PartialResponse, Policy, System } from '@postern/message'
import { expect, test } from 'vitest'
import type { Turn } from '../ports/records/work/turn.ts'
import type { RequirementDeps } from '../ports/requirement-claims.ts'
import {
  createRequirementList,
  settleRequirements,
  withoutPolicies,
  withoutRequirements,
  withState,
} from './requirements.ts'

const now = Date.UTC(2026, 0, 1)
const origin = 'https://agents.test'
let count = 0
const system = {
  now: () => now,
  randomBytes: (length: number) => new Uint8Array(length).fill(++count),
} as Partial<System> as System
const requirements: RequirementDeps = {
  origin,
  ttlMs: 3_600_000,
  stateOf: id => `state-of-${id}`.padEnd(43, '.'),
  digestOf: state => `digest of ${state}`,
}
const sender = { address: '@ada@peer.test', auth_method: 'none', verified: false } as const
const turn = { content: { sender } as Partial<NormalizedMessage> } as Turn

function settle(partial: PartialResponse | undefined, issuedIds: ReadonlyMap<string, string> = new Map()) {
  return settleRequirements(turn, partial, { turnContext: { requirements, system }, issuedIds })
}

const createPolicyPart = (policy: Partial<Policy>): Part => ({
  kind: 'policy',
  policy: { kind: 'x', message: 'May I?', ...policy },
})
const policiesIn = ({ partial }: ReturnType<typeof settle>) =>
  partial?.parts?.flatMap(part => (part.kind === 'policy' ? [part.policy] : []))

test('the gateway stores a requirement of context.requireConsent() under the digest of its state, without the state', () => {
  const list = createRequirementList(requirements, system)
  const requirement = list.requireConsent({ message: 'May I?', expires_in: 120 })
  const [part] = requirement.parts ?? []
  const policy = part?.kind === 'policy' ? part.policy : undefined
  expect(requirement.status).toBe('input_required')
  expect(policy).toMatchObject({ state: expect.any(String), url: `${origin}/actions/${policy?.state}` })
  const settledAnswer = settle(requirement, list.issuedIds)
  const expiresAt = now + 120_000
  const stored = {
    kind: 'consent_required',
    message: 'May I?',
    requirement: policy?.requirement,
    expires_at: '2026-01-01T00:02:00.000Z',
  }
  expect(policiesIn(settledAnswer)).toEqual([stored])
  expect(settledAnswer.requirements).toEqual([
    {
      id: policy?.requirement,
      digest: `digest of ${policy?.state}`,
      kind: 'consent_required',
      policy: stored,
      subject: 'unverified @ada@peer.test',
      expiresAt,
    },
  ])
  expect(settledAnswer.partial).toMatchObject({ visibility: 'direct', mentions: [] })
})

test('a requirement that the agent did not return does not count', () => {
  const list = createRequirementList(requirements, system)
  list.requirePayment({ message: 'Pay', amount: '1.00', currency: 'EUR' })
  expect(settle({ parts: [] }, list.issuedIds).requirements).toEqual([])
  expect(settle(undefined, list.issuedIds)).toEqual({ partial: undefined, requirements: [] })
})

test('the gateway ignores states and ids that an agent made up', () => {
  const inventedPolicy = {
    kind: 'consent_required',
    state: requirements.stateOf('mine'),
    requirement: 'mine',
    expires_at: '2099-01-01T00:00:00Z',
  }
  const { requirements: planned, ...settled } = settle({ parts: [createPolicyPart(inventedPolicy)] })
  expect(planned).toHaveLength(1)
  expect(planned[0]?.id).toMatch(/^[0-9a-f]{32}$/)
  expect(planned[0]?.expiresAt).toBe(now + requirements.ttlMs)
  expect(JSON.stringify(settled)).not.toMatch(/mine|2099/)
})

test('an agent without a context sets the lifetime, from one minute to 30 days', () => {
  const readLifetimeMs = (expires_in: unknown) =>
    (settle({ parts: [createPolicyPart({ kind: 'consent_required', expires_in })] }).requirements[0]?.expiresAt ?? 0) -
    now
  expect([readLifetimeMs(600), readLifetimeMs(1e9), readLifetimeMs(5), readLifetimeMs('600')]).toEqual([
    600_000,
    30 * 86_400_000,
    requirements.ttlMs,
    requirements.ttlMs,
  ])
})

test.each<[string, Partial<PartialResponse>, string | undefined]>([
  ['consent_required', {}, 'input_required'],
  ['consent_required', { status: 'completed' }, 'input_required'],
  ['consent_required', { status: 'failed' }, 'input_required'],
  ['unauthorized', {}, 'auth_required'],
  ['forbidden', { status: 'completed' }, 'rejected'],
  ['forbidden', { status: 'failed' }, 'failed'],
  ['service_unavailable', {}, 'rejected'],
  ['dance_first', { status: 'completed' }, 'input_required'],
  ['constructor', {}, 'input_required'],
])('%s with %o is %s, never success (MN-7.1)', (kind, details, status) => {
  expect(settle({ ...details, parts: [createPolicyPart({ kind })] }).partial?.status).toBe(status)
})

test('an answer without policies stays unchanged', () => {
  const partial: PartialResponse = { parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }], status: 'completed' }
  expect(settle(partial).partial).toBe(partial)
})

test('the gateway refuses a URL on another origin, and a URL of its own action pages (MN-7.1)', () => {
  const withUrl = (url: string) => () => settle({ parts: [createPolicyPart({ kind: 'forbidden', url })] })
  expect(withUrl('https://evil.test/x')).toThrow(
    'Cannot answer: the url of a policy part must be on https://agents.test, outside of /actions/, not on https://evil.test',
  )
  expect(withUrl(`${origin}.evil.test/x`)).toThrow('not on https://agents.test.evil.test')
  expect(withUrl(`${origin}/actions/${'x'.repeat(43)}`)).toThrow('outside of /actions/')
  expect(policiesIn(withUrl(`${origin}/terms`)())).toEqual([
    { kind: 'forbidden', message: 'May I?', url: `${origin}/terms` },
  ])
})

test('a price needs a decimal number and a currency', () => {
  const requirePrice = (price: object) => () =>
    settle({ parts: [createPolicyPart({ kind: 'payment_required', ...price })] })
  expect(requirePrice({})).toThrow('Cannot require payment: "amount" is missing; "currency" is missing')
  expect(requirePrice({ amount: 1.5, currency: 'EUR' })).toThrow(
    'Cannot require payment: "amount" (1.5) must be a text',
  )
  expect(requirePrice({ amount: '1,50', currency: 'EUR' })).toThrow(
    '"amount" ("1,50") must be a decimal number as text',
  )
  expect(requirePrice({ amount: '1.50', currency: 'euro' })).toThrow(
    '"currency" ("euro") must be three capital letters',
  )
  expect(requirePrice({ amount: '1.50', currency: 'EUR' })().requirements).toHaveLength(1)
})

test('an answer has at most five requirements', () => {
  const parts = Array.from({ length: 6 }, () => createPolicyPart({ kind: 'consent_required' }))
  expect(() => settle({ parts })).toThrow('an answer may have at most 5 requirements')
})

test('without a URL for decisions the gateway requires nothing, but still reports a refusal', () => {
  const list = createRequirementList(undefined, system)
  expect(() => list.requireConsent({ message: 'May I?' })).toThrow('Cannot require: nothing can be decided here')
  expect(list.refuse({ message: 'No.' })).toEqual({
    parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }],
    status: 'rejected',
  })
})

test('the gateway refuses an agent’s invalid values at the call', () => {
  const list = createRequirementList(requirements, system)
  expect(() => list.requireConsent({ message: '' })).toThrow()
  expect(() => list.requireConsent({ message: 'x', expires_in: 5 })).toThrow()
  expect(() => list.requirePayment({ message: 'x', amount: '-1', currency: 'EUR' })).toThrow()
  expect(() => list.refuse({ message: 'x', kind: 'consent_required' as never })).toThrow()
})

test('posts and edits contain nothing that can decide a requirement', () => {
  const parts = [
    createPolicyPart({ kind: 'consent_required', state: 's', requirement: 'd', url: `${origin}/actions/s` }),
    createPolicyPart({ url: `${origin}/x` }),
  ]
  expect(withoutRequirements(parts)).toEqual([
    createPolicyPart({ kind: 'consent_required' }),
    createPolicyPart({ url: `${origin}/x` }),
  ])
  expect(withoutPolicies({ parts: [...parts, { kind: 'text', mime: 'text/plain', content: 'hi' }] })).toEqual({
    parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }],
  })
})

test('the agent gets a decision together with its own state', () => {
  const policy_resolution = { in_reply_to_state: 'digest', requirement: 'd1', outcome: 'granted' } as const
  const message = { policy_resolution } as Partial<NormalizedMessage> as NormalizedMessage
  expect(withState(message, requirements)).toEqual({
    policy_resolution: { ...policy_resolution, in_reply_to_state: requirements.stateOf('d1') },
  })
  expect(withState({} as NormalizedMessage, requirements)).toEqual({})
})
