import { openStoreUnderTest } from '../../test/open-test-store.ts'
import { retentionContract } from '../../test/retention-contract.ts'
import { findUnsound } from '../../test/soundness.ts'

retentionContract(async () => {
  const tested = await openStoreUnderTest()
  return { ...tested, findUnsound: () => findUnsound(tested.file) }
})
