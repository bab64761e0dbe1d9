import { afterAll, describe, test } from 'vitest'
import { agentCases } from './cases/agents.ts'
import { serverCases, storeCases } from './cases/store.ts'
import { workCases } from './cases/work.ts'
import { expectFault, expectPass } from './setup/case.ts'
import { closeServer, hasPostgres } from './setup/postgres.ts'
import { closeSharedGateway } from './setup/shared-gateway.ts'

afterAll(async () => {
  await Promise.all([closeSharedGateway(), closeServer()])
})

describe.each(Object.entries({ ...storeCases, ...workCases, ...agentCases }))(
  '%s',
  (_id, { failingCase: fails, passingCase: holds }) => {
    test('reports the fault and its fix', async () => expectFault(await fails.runCheck(), fails.expectedDetail))
    test('passes with a correct store', async () => expectPass(await holds.runCheck(), holds.expectedDetail))
  },
)

describe.skipIf(!hasPostgres).each(Object.entries(serverCases))(
  '%s',
  (_id, { failingCase: fails, passingCase: holds }) => {
    test('reports the fault and its fix', async () => expectFault(await fails.runCheck(), fails.expectedDetail))
    test('passes with a correct store', async () => expectPass(await holds.runCheck(), holds.expectedDetail))
  },
)
