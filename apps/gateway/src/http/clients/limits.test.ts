import type { IdentityEvidence } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { limitsConfigSchema } from '../../config/own-schema.ts'
import { createLimits } from './limits.ts'

interface MessageOptions {
  readonly address: string
  readonly verified?: boolean
  readonly from?: string
  readonly agents?: readonly string[]
  /** The people of an external system for whom the sender speaks, by their subjects. */
  readonly people?: readonly string[]
}

function openRule(limits: object, { dev = false, via = 'email' } = {}) {
  const clock = { ms: 0 }
  const config = { limits: limitsConfigSchema.parse(limits), dev }
  const rule = createLimits(
    config,
    () => clock.ms,
    name => name === 'web',
  ).messages
  /** Counts one message. Returns "accepted", or the code, text and seconds of the refusal. */
  const count = ({ address, verified = true, from = '192.0.2.1', agents = ['echo'], people = [] }: MessageOptions) => {
    const identities = people.map(
      subject => ({ issuer: 'slack.test', subject, proof: { type: 'signed-attestation' } }) as IdentityEvidence,
    )
    const sender = { address, verified, identities }
    const intakes = agents.map(agent => ({ agent, message: { received_via: via, sender } }) as Intake)
    try {
      rule.count?.(intakes, from)
      return 'accepted'
    } catch (error) {
      const { code, message, retryAfter } = error as { code: string; message: string; retryAfter: number }
      return `${code}: ${message}, ${retryAfter} s`
    }
  }
  const countMany = (times: number, createOptions: (index: number) => MessageOptions) =>
    Array.from({ length: times }, (_, index) => count(createOptions(index)))
  return { clock, count, countMany }
}

const fromSender = (seconds: number) =>
  `rate_limited: Cannot take message: too many from this sender in a short time, ${seconds} s`
const fromHost = (seconds: number) =>
  `rate_limited: Cannot take message: too many from this host in a short time, ${seconds} s`
const fromConnector = (seconds: number) =>
  `rate_limited: Cannot take message: too many from this connector in a short time, ${seconds} s`
const forAgent = (seconds: number) =>
  `rate_limited: Cannot take message: too many for this agent in a short time, ${seconds} s`

test('all addresses of one IPv6 network count as one peer', () => {
  const limits = createLimits(
    { limits: limitsConfigSchema.parse({ per_address: 1 }), dev: false },
    () => 0,
    () => false,
  )
  limits.consumeAddress('2001:db8::1')
  expect(() => limits.consumeAddress('2001:db8::2')).toThrow(
    expect.objectContaining({ code: 'rate_limited', message: 'Cannot take request: too many in a short time' }),
  )
  expect(() => limits.consumeAddress('2001:db8:0:1::1')).not.toThrow()
})

test('each person behind a connector has a limit, and so has a connector without people', () => {
  const { count, countMany } = openRule({ per_identity: 3, per_host: 3 }, { via: 'a2a' })
  const slack = { address: '@slack@connector.test' }
  const by = (...people: readonly string[]) => ({ ...slack, people })
  expect(countMany(4, () => by('T1/U1'))).toEqual(['accepted', 'accepted', 'accepted', fromSender(20)])
  expect(countMany(4, () => by('T1/U2'))).toEqual(['accepted', 'accepted', 'accepted', fromSender(20)])
  // More evidence for the same person does not add a second limit.
  expect(count(by('T1/U1', 'T1/U3'))).toBe(fromSender(20))
  expect(countMany(4, () => slack)).toEqual(['accepted', 'accepted', 'accepted', fromHost(20)])
})

test('a connector has a limit for all its people, which refused people do not use up', () => {
  const { count, countMany } = openRule({ per_identity: 1, per_connector: 3 }, { via: 'a2a' })
  const by = (person: string, address = '@slack@connector.test') => ({ address, people: [person] })
  expect(countMany(3, () => by('T1/U1'))).toEqual(['accepted', fromSender(60), fromSender(60)])
  expect(countMany(3, at => by(`T1/V${at}`))).toEqual(['accepted', 'accepted', fromConnector(20)])
  expect(count(by('T1/U9', '@discord@connector.test'))).toBe('accepted')
})

test('an unproven sender with evidence about others does not use their limits', () => {
  const { count, countMany } = openRule({ per_identity: 9, per_unverified: 1 }, { via: 'a2a' })
  const claims = { address: '@slack@connector.test', verified: false }
  expect(countMany(2, at => ({ ...claims, people: [`T1/U${at}`] }))).toEqual(['accepted', fromSender(60)])
  expect(count({ ...claims, verified: true, people: ['T1/U1'] })).toBe('accepted')
})

test('a sender who claims a name without proof does not use up the limit of its owner', () => {
  const { count } = openRule({ per_identity: 1, per_unverified: 1 })
  const alice = { address: '@alice@good.test' }
  expect(count({ ...alice, verified: false })).toBe('accepted')
  expect(count({ ...alice, verified: false, from: '192.0.2.2' })).toBe(fromSender(60))
  expect(count(alice)).toBe('accepted')
  expect(count(alice)).toBe(fromSender(60))
})

test('unproven senders have a smaller limit, which invented names or addresses of one network do not raise', () => {
  const { countMany, count } = openRule({ per_identity: 9, per_unverified: 3 })
  const outcomes = countMany(6, at => ({ address: `@m${at}@m${at}.test`, verified: false, from: `2001:db8::${at}` }))
  expect(outcomes).toEqual(['accepted', 'accepted', 'accepted', fromSender(20), fromSender(20), fromSender(20)])
  expect(count({ address: '@other@other.test', verified: false, from: '2001:db8:1::1' })).toBe('accepted')
  expect(countMany(9, () => ({ address: '@alice@good.test', from: '2001:db8::1' }))).toEqual(Array(9).fill('accepted'))
})

test('a refused message uses up no limit, so that the next one still passes', () => {
  const { clock, count, countMany } = openRule({ per_host: 2, per_identity: 1 })
  expect(count({ address: '@alice@good.test' })).toBe('accepted')
  expect(new Set(countMany(5, () => ({ address: '@alice@good.test' })))).toEqual(new Set([fromSender(60)]))
  expect(count({ address: '@bob@good.test' })).toBe('accepted')
  expect(count({ address: '@carol@good.test' })).toBe(fromHost(30))
  clock.ms = 30_000
  expect(count({ address: '@carol@good.test' })).toBe('accepted')
})

test('a message to several agents counts once for its sender and once for each agent, and passes or fails as a whole', () => {
  const { count } = openRule({ per_identity: 2, per_agent: 2 })
  expect(count({ address: '@alice@good.test', agents: ['echo', 'help'] })).toBe('accepted')
  expect(count({ address: '@bob@good.test', agents: ['echo'] })).toBe('accepted')
  expect(count({ address: '@alice@good.test', agents: ['help', 'echo'] })).toBe(forAgent(30))
  expect(count({ address: '@alice@good.test', agents: ['help'] })).toBe('accepted')
})

test('a flood of invented names neither locks out proven senders nor uses unbounded memory', () => {
  const { count, countMany } = openRule({})
  const flood = (at: number) => ({
    address: `@${at}${'x'.repeat(50)}@h${at}.test`,
    verified: false,
    from: `198.51.${at % 200}.${(at >> 3) % 200}`,
  })
  const heapBytesBefore = process.memoryUsage().heapUsed
  const outcomes = countMany(100_000, flood)
  expect(outcomes.filter(answer => answer === 'accepted')).toHaveLength(1_500)
  // The limits keep at most three tables of ten thousand keys.
  expect(process.memoryUsage().heapUsed - heapBytesBefore).toBeLessThan(100 * 1024 * 1024)
  expect(countMany(120, () => ({ address: '@alice@good.test' }))).toEqual(Array(120).fill('accepted'))
  expect(count({ address: '@alice@good.test' })).toBe(fromSender(1))
})

test('rate limits apply by default, except in dev mode', () => {
  const { countMany } = openRule({}, { dev: true })
  expect(new Set(countMany(5_000, () => ({ address: '@a@b.test', verified: false })))).toEqual(new Set(['accepted']))
  const production = openRule({}).countMany(31, () => ({ address: '@a@b.test', verified: false }))
  expect(production.slice(29)).toEqual(['accepted', fromSender(2)])
})

test('people who chat do not share the limit of one host', () => {
  const { count } = openRule({ per_host: 1, per_identity: 2 }, { via: 'web' })
  const [ann, bob] = ['@ann@web.agents.test', '@bob@web.agents.test'].map(address => ({ address })) as [
    MessageOptions,
    MessageOptions,
  ]
  expect([count(ann), count(ann), count(bob)]).toEqual(['accepted', 'accepted', 'accepted'])
  expect(count(ann)).toBe(fromSender(30))
})
