import { checkGroups } from '@postern/operator'
import { groupOf } from '@postern/operator/doctor'
import { expect, test } from 'vitest'
import { agentCases } from './cases/agents.ts'
import { configurationCases } from './cases/configuration.ts'
import { channelCases, discoveryCases } from './cases/discovery.ts'
import { gatewayCases } from './cases/gateway.ts'
import { machineCases } from './cases/machine.ts'
import { mailCases } from './cases/mail.ts'
import { networkCases } from './cases/network.ts'
import { serverCases, storeCases } from './cases/store.ts'
import { tlsCases } from './cases/tls.ts'
import { workCases } from './cases/work.ts'
import { allChecks } from './setup/case.ts'

const cases = [
  machineCases,
  configurationCases,
  gatewayCases,
  networkCases,
  tlsCases,
  discoveryCases,
  channelCases,
  mailCases,
  storeCases,
  serverCases,
  workCases,
  agentCases,
]

test('doctor has at least forty checks, each with a test where it fails and one where it passes', () => {
  const ids = allChecks.map(({ id }) => id)
  expect(ids.length).toBeGreaterThanOrEqual(40)
  expect(new Set(ids).size).toBe(ids.length)
  expect(cases.flatMap(groupCases => Object.keys(groupCases)).toSorted()).toEqual(ids.toSorted())
})

test.each(allChecks.map(check => [check.id, check] as const))(
  '%s states its question and how to fix a fault',
  (id, check) => {
    expect(checkGroups).toContain(groupOf(check))
    expect(id).toMatch(/^[a-z]+\.[a-z0-9_]+$/)
    expect(check.description).toMatch(/^.{20,160}\.$/)
    expect(check.fix).toMatch(/^\S.{10,160}\.$/)
  },
)
