import { afterAll, describe, test } from 'vitest'
import { mailCases } from './cases/mail.ts'
import { expectContent, expectFault } from './setup/case.ts'
import { closeShared } from './setup/shared-gateway.ts'

afterAll(closeShared)

describe.each(Object.entries(mailCases))('%s', (_id, { fails, holds }) => {
  test('reports the fault and its fix', async () => expectFault(await fails.examine(), fails.says))
  test('passes with a correct configuration', async () => expectContent(await holds.examine(), holds.says))
})
