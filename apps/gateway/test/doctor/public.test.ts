import type { Refusal } from '@postern/pipeline'
import { afterAll, describe, expect, test } from 'vitest'
import { rehearsalField } from '../../src/http/rehearsals.ts'
import { channelCases, discoveryCases } from './cases/discovery.ts'
import { networkCases } from './cases/network.ts'
import { tlsCases } from './cases/tls.ts'
import { expectFault, expectPass } from './setup/case.ts'
import { checkPublicGateway, closePublicGateway, openPublicGateway } from './setup/public-gateway.ts'

afterAll(closePublicGateway)

test('the checks leave no rehearsal among the refusals, where a stranger’s pretended rehearsal appears', async () => {
  const { gateway } = await openPublicGateway()
  const listRefusals = async () => (await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')).items
  expectPass(await checkPublicGateway('channels.inbox'), 'refused the same call with a forged proof')
  expect(await listRefusals()).toEqual([])
  const claim = `refused.${Date.now() + 20_000}.${'a'.repeat(16)}.${'b'.repeat(43)}`
  const headers = { 'content-type': 'application/activity+json', [rehearsalField]: claim }
  expect((await fetch(`${gateway.url()}/inbox`, { method: 'POST', headers, body: '{}' })).status).toBe(401)
  expect(await listRefusals()).toMatchObject([{ code: 'unsigned', endpoint: 'POST /inbox' }])
})

const cases = Object.entries({ ...networkCases, ...tlsCases, ...discoveryCases, ...channelCases })

describe.each(cases)('%s', (_id, { failingCase: fails, passingCase: holds }) => {
  test('reports the fault and its fix', async () => expectFault(await fails.runCheck(), fails.expectedDetail))
  test('passes with a correct configuration', async () => expectPass(await holds.runCheck(), holds.expectedDetail))
})
