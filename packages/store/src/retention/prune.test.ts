import { openStoreUnderTest } from '../../test/open-test-store.ts'
import { retentionContract } from '../../test/retention-contract.ts'
import { findInconsistencies } from '../../test/soundness.ts'

retentionContract(async () => {
  const tested = await openStoreUnderTest()
  return { ...tested, findUnsound: () => findInconsistencies(tested.file) }
})
