import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { createMailDns } from './mail-dns.ts'

const limits = mailLimitsSchema.parse({ dns_questions: 3, dns_timeout_ms: 20 })

function createTestDns(answer: (name: string) => Promise<unknown>) {
  const queries: string[] = []
  let now = 0
  const dns = createMailDns(
    {
      now: () => now,
      sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
      resolveDns(name, type) {
        queries.push(`${type} ${name}`)
        return answer(name)
      },
    },
    limits,
  )
  return { dns, queries, advance: (ms: number) => (now += ms) }
}

const failWith = (code: string) => async () => Promise.reject(Object.assign(new Error(code), { code }))
const resolveName = ({ dns }: ReturnType<typeof createTestDns>, name = 'a.test') =>
  dns.openBudget().resolve(name, 'TXT')

test('the cache remembers an answer for half a minute, and ignores the case of names', async () => {
  const testDns = createTestDns(async () => [['v=1']])
  expect(await resolveName(testDns)).toEqual([['v=1']])
  expect(await resolveName(testDns, 'A.test')).toEqual([['v=1']])
  expect(testDns.queries).toEqual(['TXT a.test'])
  testDns.advance(30_001)
  await resolveName(testDns)
  expect(testDns.queries).toHaveLength(2)
})

test.each(['ENOTFOUND', 'ENODATA'])('the cache remembers %s for two seconds', async code => {
  const testDns = createTestDns(failWith(code))
  await expect(resolveName(testDns)).rejects.toMatchObject({ code })
  await expect(resolveName(testDns)).rejects.toMatchObject({ code })
  expect(testDns.queries).toHaveLength(1)
  testDns.advance(2_001)
  await expect(resolveName(testDns)).rejects.toMatchObject({ code })
  expect(testDns.queries).toHaveLength(2)
})

test('the cache does not remember an error', async () => {
  const testDns = createTestDns(failWith('ESERVFAIL'))
  await expect(resolveName(testDns)).rejects.toMatchObject({ code: 'ESERVFAIL' })
  await expect(resolveName(testDns)).rejects.toMatchObject({ code: 'ESERVFAIL' })
  expect(testDns.queries).toHaveLength(2)
})

test('a resolver that does not answer counts as a failure after the timeout (EM-34)', async () => {
  await expect(resolveName(createTestDns(() => new Promise(() => undefined)))).rejects.toMatchObject({
    code: 'ETIMEOUT',
  })
})

test('a message may cause a limited number of queries', async () => {
  const { dns, queries } = createTestDns(async name => [[name]])
  const budget = dns.openBudget()
  for (const name of ['a', 'b', 'c']) await budget.resolve(name, 'TXT')
  expect(budget.isExhausted()).toBe(false)
  await expect(budget.resolve('d', 'TXT')).rejects.toMatchObject({ code: 'EBUDGET' })
  expect(budget.isExhausted()).toBe(true)
  expect(queries).toHaveLength(3)
})

test('a query counts as a failure if all queries together take too long', async () => {
  const testDns = createTestDns(async name => [[name]])
  const budget = testDns.dns.openBudget()
  await budget.resolve('a', 'TXT')
  testDns.advance(60)
  await expect(budget.resolve('b', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' })
})

test.each([
  ['64 KB in one record', [['x'.repeat(65_536)]]],
  ['a hundred and one records', Array.from({ length: 101 }, () => ['x'])],
])('%s count as no records (EM-38)', async (_what, answer) => {
  await expect(resolveName(createTestDns(async () => answer))).rejects.toMatchObject({ code: 'ENODATA' })
})
