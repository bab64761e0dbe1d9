import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SimDns } from './dns.ts'
import { openSimDns } from './dns.ts'

let dns: SimDns
let resolver: Resolver

beforeAll(async () => {
  dns = await openSimDns()
  resolver = openResolver(5_000)
})
afterAll(() => dns.close())

function openResolver(timeout: number): Resolver {
  const openedResolver = new Resolver({ timeout, tries: 1 })
  openedResolver.setServers([dns.address])
  return openedResolver
}

const failureOf = (promise: Promise<unknown>) => promise.then(() => 'no error').catch(error => error.code)

test('a TXT record has strings of at most 255 bytes that join to the value', async () => {
  const value = `v=DKIM1; p=${'A'.repeat(600)}`
  dns.set('key._domainkey.one.test', { TXT: [value] })
  const [strings] = await resolver.resolveTxt('key._domainkey.one.test')
  expect(strings?.map(text => text.length)).toEqual([255, 255, value.length - 510])
  expect(strings?.join('')).toBe(value)
})

test('the server sends a response that is too long for UDP over TCP', async () => {
  dns.set('long.test', { TXT: ['x'.repeat(5_000)] })
  const [strings] = await resolver.resolveTxt('long.test')
  expect(strings?.join('')).toHaveLength(5_000)
})

test('the server answers for addresses, mail exchangers and aliases', async () => {
  dns.set('two.test', { A: ['127.0.0.1'], AAAA: ['::1'], MX: [{ priority: 10, exchange: 'mx.two.test' }] })
  dns.set('alias.test', { CNAME: ['two.test'] })
  expect(await resolver.resolve4('two.test')).toEqual(['127.0.0.1'])
  expect(await resolver.resolve6('two.test')).toEqual(['::1'])
  expect(await resolver.resolveMx('two.test')).toMatchObject([{ priority: 10, exchange: 'mx.two.test' }])
  expect(await resolver.resolveCname('alias.test')).toEqual(['two.test'])
})

test('the server ignores the case of names', async () => {
  dns.set('Case.test', { TXT: ['yes'] })
  expect(await resolver.resolveTxt('cASE.test')).toEqual([['yes']])
})

test('an unknown name does not exist, while a known one without the type has no data', async () => {
  dns.set('deep.under.three.test', { A: ['127.0.0.1'] })
  expect(await failureOf(resolver.resolveTxt('nothing.test'))).toBe('ENOTFOUND')
  expect(await failureOf(resolver.resolveTxt('deep.under.three.test'))).toBe('ENODATA')
  expect(await failureOf(resolver.resolveTxt('under.three.test'))).toBe('ENODATA')
})

test.each([
  ['servfail', 'ESERVFAIL'],
  ['silence', 'ETIMEOUT'],
  ['nxdomain', 'ENOTFOUND'],
] as const)('a test can make a name fail with %s, and repair it', async (failure, code) => {
  dns.set('four.test', { TXT: ['here'] })
  const fix = dns.fail('four.test', failure)
  // A silent server uses up the whole timeout.
  const asking = failure === 'silence' ? openResolver(100) : resolver
  expect(await failureOf(asking.resolveTxt('four.test'))).toBe(code)
  fix()
  expect(await resolver.resolveTxt('four.test')).toEqual([['here']])
})

test('a test can add and remove records while the server runs', async () => {
  dns.addRecord('five.test', 'TXT', 'one')
  dns.addRecord('five.test', 'TXT', 'two')
  expect(await resolver.resolveTxt('five.test')).toEqual([['one'], ['two']])
  dns.remove('five.test')
  expect(await failureOf(resolver.resolveTxt('five.test'))).toBe('ENOTFOUND')
})

test('the server records every question', async () => {
  await failureOf(resolver.resolveMx('asked.test'))
  expect(dns.questions.filter(question => question === 'asked.test MX')).toHaveLength(1)
})
