import { openStoreUnderTest } from '../test/open-test-store.ts'
import { findUnsound } from '../test/soundness.ts'
import { soundnessModel } from '../test/soundness-model.ts'

soundnessModel(async () => {
  const tested = await openStoreUnderTest()
  return { ...tested, findUnsound: options => findUnsound(tested.file, options) }
})
