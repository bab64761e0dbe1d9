import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { createMailDns } from './mail-dns.ts'

const limits = mailLimitsSchema.parse({ dns_questions: 3, dns_timeout_ms: 20 })

function open(answer: (name: string) => Promise<unknown>) {
  const asked: string[] = []
  let now = 0
  const dns = createMailDns(
    {
      now: () => now,
      sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
      resolveDns(name, type) {
        asked.push(`${type} ${name}`)
        return answer(name)
      },
    },
    limits,
  )
  return { dns, asked, advance: (ms: number) => (now += ms) }
}

const failing = (code: string) => async () => Promise.reject(Object.assign(new Error(code), { code }))
const ask = ({ dns }: ReturnType<typeof open>, name = 'a.test') => dns.openBudget().resolve(name, 'TXT')

test('the cache remembers an answer for half a minute, whatever the case of the name', async () => {
  const opened = open(async () => [['v=1']])
  expect(await ask(opened)).toEqual([['v=1']])
  expect(await ask(opened, 'A.test')).toEqual([['v=1']])
  expect(opened.asked).toEqual(['TXT a.test'])
  opened.advance(30_001)
  await ask(opened)
  expect(opened.asked).toHaveLength(2)
})

test.each(['ENOTFOUND', 'ENODATA'])('the cache remembers %s for two seconds', async code => {
  const opened = open(failing(code))
  await expect(ask(opened)).rejects.toMatchObject({ code })
  await expect(ask(opened)).rejects.toMatchObject({ code })
  expect(opened.asked).toHaveLength(1)
  opened.advance(2_001)
  await expect(ask(opened)).rejects.toMatchObject({ code })
  expect(opened.asked).toHaveLength(2)
})

test('the cache does not remember an error', async () => {
  const opened = open(failing('ESERVFAIL'))
  await expect(ask(opened)).rejects.toMatchObject({ code: 'ESERVFAIL' })
  await expect(ask(opened)).rejects.toMatchObject({ code: 'ESERVFAIL' })
  expect(opened.asked).toHaveLength(2)
})

test('a resolver that keeps silent is trouble after the time-out (EM-34)', async () => {
  await expect(ask(open(() => new Promise(() => undefined)))).rejects.toMatchObject({ code: 'ETIMEOUT' })
})

test('a message may ask so many questions and no more', async () => {
  const { dns, asked } = open(async name => [[name]])
  const budget = dns.openBudget()
  for (const name of ['a', 'b', 'c']) await budget.resolve(name, 'TXT')
  expect(budget.isExhausted()).toBe(false)
  await expect(budget.resolve('d', 'TXT')).rejects.toMatchObject({ code: 'EBUDGET' })
  expect(budget.isExhausted()).toBe(true)
  expect(asked).toHaveLength(3)
})

test('questions that together take too long are trouble', async () => {
  const opened = open(async name => [[name]])
  const budget = opened.dns.openBudget()
  await budget.resolve('a', 'TXT')
  opened.advance(60)
  await expect(budget.resolve('b', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' })
})

test.each([
  ['64 KB in one record', [['x'.repeat(65_536)]]],
  ['a hundred and one records', Array.from({ length: 101 }, () => ['x'])],
])('EM-38: %s count as none', async (_what, answer) => {
  await expect(ask(open(async () => answer))).rejects.toMatchObject({ code: 'ENODATA' })
})
