import { fileURLToPath } from 'node:url'
import { drawCount } from '@postern/testing/scale'
import { expect, test } from 'vitest'
import { readCase, writeCase } from './cases/case.ts'
import { listEndpoints } from './cases/endpoints.ts'
import { makeCase } from './cases/make.ts'
import { readSeeds } from './cases/seeds.ts'
import { runFuzz } from './run.ts'
import { openTarget } from './target/open.ts'
import { createRandom } from './values/random.ts'

const script = fileURLToPath(new URL('./target/planted.ts', import.meta.url))

async function examine(fault: string, seconds: number) {
  const target = await openTarget(script, [fault])
  const report = await runFuzz(
    { target, credentials: async () => ({}) },
    { seed: 1, durationSeconds: seconds, endpointFilter: undefined },
  )
  await target.stop()
  return report
}

test.concurrent.each([
  ['error', 'it answered 500'],
  ['stall', 'it did not answer /healthz for too long'],
  ['exit', 'the process ended: 3'],
  ['stray', 'it logged: a promise was rejected'],
])('the fuzz run finds a planted %s and keeps the request that caused it', async (fault, text) => {
  const { findings } = await examine(fault, drawCount({ quick: 1, long: 3 }))
  const finding = findings.find(finding => finding.text.startsWith(text))
  expect(finding?.suspects.map(({ endpoint }) => endpoint)).toContain('POST /faulty')
})

test('the fuzz run finds nothing on a correct server', async () => {
  const { findings, sentCount } = await examine('none', 1)
  expect(findings).toEqual([])
  expect(sentCount).toBeGreaterThan(1)
})

test('one seed generates the same requests again, and a stored request reads back unchanged', () => {
  const seeds = readSeeds()
  const routes = [{ method: 'POST', path: '/inbox' }]
  const endpoints = listEndpoints({ http: 1, smtp: 2, grpc: 3, routes }, seeds)
  const make = () =>
    Array.from({ length: 60 }, (_, index) => {
      const random = createRandom(5, index)
      return makeCase(random.pick(endpoints), random, { seeds, ids: [], now: 0 })
    })
  const cases = make()
  expect(make()).toEqual(cases)
  expect(new Set(cases.map(({ kind }) => kind))).toEqual(new Set(['http', 'mail', 'grpc']))
  expect(cases.map(fuzzCase => readCase(writeCase(fuzzCase)))).toEqual(cases)
})
