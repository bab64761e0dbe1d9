import { openTestDesk } from '../test/open-test-desk.ts'
import { findUnsound } from '../test/soundness.ts'
import { soundnessModel } from '../test/soundness-model.ts'

soundnessModel(async () => {
  const tested = await openTestDesk()
  return { ...tested, findUnsound: options => findUnsound(tested.file, options) }
})
