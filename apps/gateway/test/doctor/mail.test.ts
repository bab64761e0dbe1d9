import { afterAll, describe, test } from 'vitest'
import { mailCases } from './cases/mail.ts'
import { expectContent, expectFault } from './setup/case.ts'
import { closeShared } from './setup/opened.ts'

afterAll(closeShared)

describe.each(Object.entries(mailCases))('%s', (_id, { fails, holds }) => {
  test('says what is wrong and how to fix it', async () => expectFault(await fails.examine(), fails.says))
  test('is content where nothing is wrong', async () => expectContent(await holds.examine(), holds.says))
})
