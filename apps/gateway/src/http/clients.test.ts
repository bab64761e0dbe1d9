import type { Intake } from '@postern/core'
import { expect, test } from 'vitest'
import { limitsConfigSchema } from '../config/own-schema.ts'
import { parseConfig } from '../config/read-config.ts'
import { createLimits, createTrustedProxies, createUnknownProxies, findClientAddress } from './clients.ts'

interface Sketch {
  readonly address: string
  readonly verified?: boolean
  readonly from?: string
  readonly agents?: readonly string[]
}

function openRule(limits: object, { dev = false, via = 'email' } = {}) {
  const clock = { ms: 0 }
  const config = { limits: limitsConfigSchema.parse(limits), dev }
  const rule = createLimits(
    config,
    () => clock.ms,
    name => name === 'web',
  ).messages
  /** What the peer is told: the refusal's code, words and seconds. */
  const count = ({ address, verified = true, from = '192.0.2.1', agents = ['echo'] }: Sketch) => {
    const sender = { address, verified }
    const intakes = agents.map(agent => ({ agent, message: { received_via: via, sender } }) as Intake)
    try {
      rule.count?.(intakes, from)
      return 'taken'
    } catch (error) {
      const { code, message, retryAfter } = error as { code: string; message: string; retryAfter: number }
      return `${code}: ${message}, ${retryAfter} s`
    }
  }
  const countMany = (times: number, sketch: (at: number) => Sketch) =>
    Array.from({ length: times }, (_, at) => count(sketch(at)))
  return { clock, count, countMany }
}

const fromSender = (seconds: number) =>
  `rate_limited: Cannot take message: too many from this sender in a short time, ${seconds} s`
const fromHost = (seconds: number) =>
  `rate_limited: Cannot take message: too many from this host in a short time, ${seconds} s`
const forAgent = (seconds: number) =>
  `rate_limited: Cannot take message: too many for this agent in a short time, ${seconds} s`

test('all addresses of one IPv6 network are one peer', () => {
  const limits = createLimits(
    { limits: limitsConfigSchema.parse({ per_address: 1 }), dev: false },
    () => 0,
    () => false,
  )
  limits.takeAddress('2001:db8::1')
  expect(() => limits.takeAddress('2001:db8::2')).toThrow(
    expect.objectContaining({ code: 'rate_limited', message: 'Cannot take request: too many in a short time' }),
  )
  expect(() => limits.takeAddress('2001:db8:0:1::1')).not.toThrow()
})

test('a sender who claims a name without proof does not use up the limit of its owner', () => {
  const { count } = openRule({ per_identity: 1, per_unverified: 1 })
  const alice = { address: '@alice@good.test' }
  expect(count({ ...alice, verified: false })).toBe('taken')
  expect(count({ ...alice, verified: false, from: '192.0.2.2' })).toBe(fromSender(60))
  expect(count(alice)).toBe('taken')
  expect(count(alice)).toBe(fromSender(60))
})

test('senders who prove nothing have a smaller limit, and made-up names help no more than made-up addresses of one network', () => {
  const { countMany, count } = openRule({ per_identity: 9, per_unverified: 3 })
  const made = countMany(6, at => ({ address: `@m${at}@m${at}.test`, verified: false, from: `2001:db8::${at}` }))
  expect(made).toEqual(['taken', 'taken', 'taken', fromSender(20), fromSender(20), fromSender(20)])
  expect(count({ address: '@other@other.test', verified: false, from: '2001:db8:1::1' })).toBe('taken')
  expect(countMany(9, () => ({ address: '@alice@good.test', from: '2001:db8::1' }))).toEqual(Array(9).fill('taken'))
})

test('a refusal takes nothing from any bucket, and the next one still admits its sender', () => {
  const { clock, count, countMany } = openRule({ per_host: 2, per_identity: 1 })
  expect(count({ address: '@alice@good.test' })).toBe('taken')
  expect(new Set(countMany(5, () => ({ address: '@alice@good.test' })))).toEqual(new Set([fromSender(60)]))
  expect(count({ address: '@bob@good.test' })).toBe('taken')
  expect(count({ address: '@carol@good.test' })).toBe(fromHost(30))
  clock.ms = 30_000
  expect(count({ address: '@carol@good.test' })).toBe('taken')
})

test('a message to several agents counts once for its sender and for each agent, and passes whole or not at all', () => {
  const { count } = openRule({ per_identity: 2, per_agent: 2 })
  expect(count({ address: '@alice@good.test', agents: ['echo', 'help'] })).toBe('taken')
  expect(count({ address: '@bob@good.test', agents: ['echo'] })).toBe('taken')
  expect(count({ address: '@alice@good.test', agents: ['help', 'echo'] })).toBe(forAgent(30))
  expect(count({ address: '@alice@good.test', agents: ['help'] })).toBe('taken')
})

test('a flood of made-up names neither locks out proven senders nor grows without end', () => {
  const { count, countMany } = openRule({})
  const flood = (at: number) => ({
    address: `@${at}${'x'.repeat(50)}@h${at}.test`,
    verified: false,
    from: `198.51.${at % 200}.${(at >> 3) % 200}`,
  })
  const before = process.memoryUsage().heapUsed
  const told = countMany(100_000, flood)
  expect(told.filter(answer => answer === 'taken')).toHaveLength(1_500)
  // Three tables of ten thousand keys at most.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024)
  expect(countMany(120, () => ({ address: '@alice@good.test' }))).toEqual(Array(120).fill('taken'))
  expect(count({ address: '@alice@good.test' })).toBe(fromSender(1))
})

test('limits hold by default, but for dev mode', () => {
  const { countMany } = openRule({}, { dev: true })
  expect(new Set(countMany(5_000, () => ({ address: '@a@b.test', verified: false })))).toEqual(new Set(['taken']))
  const production = openRule({}).countMany(31, () => ({ address: '@a@b.test', verified: false }))
  expect(production.slice(29)).toEqual(['taken', fromSender(2)])
})

test('people who chat do not use up each other’s limit as if they were one host', () => {
  const { count } = openRule({ per_host: 1, per_identity: 2 }, { via: 'web' })
  const [ann, bob] = ['@ann@web.agents.test', '@bob@web.agents.test'].map(address => ({ address })) as [Sketch, Sketch]
  expect([count(ann), count(ann), count(bob)]).toEqual(['taken', 'taken', 'taken'])
  expect(count(ann)).toBe(fromSender(30))
})

const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })

function trusting(trusted_proxies: readonly string[] | undefined, host = '127.0.0.1') {
  const agents = { echo: { name: 'Echo', description: 'Echoes', use: 'builtin:echo' } }
  return createTrustedProxies(
    parseConfig({ origin: 'https://agents.example', agents, listen: { host }, network: { trusted_proxies } }),
  )
}

const proxies = trusting(['10.0.0.1', '10.0.0.2', 'fd00::/8'])

test.each([
  ['nobody who is not a proxy is believed', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['a proxy names its client', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'what a client claims before the proxies is passed over',
    '10.0.0.1',
    '1.2.3.4, 198.51.100.1, 10.0.0.2',
    '198.51.100.1',
  ],
  ['a proxy that says nothing speaks for itself', '10.0.0.1', undefined, '10.0.0.1'],
  ['only proxies in the chain', '10.0.0.1', '10.0.0.2', '10.0.0.2'],
  ['a port is no part of the address', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['nor are brackets', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['a network of proxies', 'fd00::12', '198.51.100.1', '198.51.100.1'],
  ['a mapped address in the chain', '10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
  ['what is no address hides nobody behind it', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
  ['an empty hop hides nobody behind it', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
])('findClientAddress(): %s', (_, direct, forwarded, address) => {
  expect(findClientAddress(from(direct), forwarded, proxies)).toBe(address)
})

test.each([
  ['127.0.0.1', undefined, '127.0.0.1', true],
  ['127.0.0.1', undefined, '127.8.8.8', true],
  ['::1', undefined, '::1', true],
  ['localhost', undefined, '::1', true],
  ['127.0.0.1', undefined, '10.0.0.1', false],
  ['0.0.0.0', undefined, '127.0.0.1', false],
  ['::', undefined, '::1', false],
  ['127.0.0.1', [], '127.0.0.1', false],
  ['0.0.0.0', ['172.16.0.0/12'], '172.18.0.1', true],
  ['0.0.0.0', ['172.16.0.0/12'], '172.32.0.1', false],
])('a gateway that listens on %s with trusted_proxies %j trusts %s: %s', (host, trusted, address, isTrusted) => {
  expect(trusting(trusted, host).isTrusted(address)).toBe(isTrusted)
})

const silent = { debug() {}, info() {}, error() {} }

test('the log names an untrusted private proxy once, with the setting that trusts it', () => {
  const warned: [object, string][] = []
  const log = { ...silent, warn: (fields: object, text: string) => void warned.push([fields, text]) }
  const proxies = createUnknownProxies({ isTrusted: address => address === '10.0.0.1' }, log)
  const forwarded = new Headers({ 'x-forwarded-for': '198.51.100.7' })
  for (const address of ['172.18.0.1', '172.18.0.1', '10.0.0.1', '8.8.8.8']) proxies.notice(from(address), forwarded)
  proxies.notice(from('172.18.0.2'), new Headers())
  proxies.notice(from('172.18.0.3'), new Headers({ forwarded: 'for=198.51.100.7' }))
  expect(warned.map(([fields]) => fields)).toEqual([{ proxy: '172.18.0.1' }, { proxy: '172.18.0.3' }])
  expect(warned[0]?.[1]).toContain('network.trusted_proxies')
  expect(proxies.list()).toEqual(['172.18.0.1', '172.18.0.3'])
})
