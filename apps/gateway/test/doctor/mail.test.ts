import { afterAll, describe, test } from 'vitest'
import { mailCases } from './cases/mail.ts'
import { expectFault, expectPass } from './setup/case.ts'
import { closeSharedGateway } from './setup/shared-gateway.ts'

afterAll(closeSharedGateway)

describe.each(Object.entries(mailCases))('%s', (_id, { failingCase: fails, passingCase: holds }) => {
  test('reports the fault and its fix', async () => expectFault(await fails.runCheck(), fails.expectedDetail))
  test('passes with a correct configuration', async () => expectPass(await holds.runCheck(), holds.expectedDetail))
})
