import { afterAll, describe, test } from 'vitest'
import { configurationCases } from './cases/configuration.ts'
import { gatewayCases } from './cases/gateway.ts'
import { machineCases } from './cases/machine.ts'
import { expectFault, expectPass } from './setup/case.ts'
import { closeSharedGateway } from './setup/shared-gateway.ts'

afterAll(closeSharedGateway)

const cases = Object.entries({ ...machineCases, ...configurationCases, ...gatewayCases })

describe.each(cases)('%s', (_id, { failingCase: fails, passingCase: holds }) => {
  test('reports the fault and its fix', async () => expectFault(await fails.runCheck(), fails.expectedDetail))
  test('passes with a correct configuration', async () => expectPass(await holds.runCheck(), holds.expectedDetail))
})
