import { afterAll, describe, test } from 'vitest'
import { channelCases, discoveryCases } from './cases/discovery.ts'
import { networkCases } from './cases/network.ts'
import { tlsCases } from './cases/tls.ts'
import { expectContent, expectFault } from './setup/case.ts'
import { closePublic } from './setup/public-gateway.ts'

afterAll(closePublic)

const cases = Object.entries({ ...networkCases, ...tlsCases, ...discoveryCases, ...channelCases })

describe.each(cases)('%s', (_id, { fails, holds }) => {
  test('says what is wrong and how to fix it', async () => expectFault(await fails.examine(), fails.says))
  test('is content where nothing is wrong', async () => expectContent(await holds.examine(), holds.says))
})
