import { openStoreUnderTest } from '../test/open-test-store.ts'
import { findInconsistencies } from '../test/soundness.ts'
import { soundnessModel } from '../test/soundness-model.ts'

soundnessModel(async () => {
  const tested = await openStoreUnderTest()
  return { ...tested, findUnsound: options => findInconsistencies(tested.file, options) }
})
