import { openPostgresDesk } from '../../src/index.ts'
import { silentLog } from '../open-test-desk.ts'
import { soundnessModel } from '../soundness-model.ts'
import { transcriptContract } from '../transcript-contract.ts'
import { createFindUnsound } from './find-unsound.ts'
import { makeDatabase, openPostgresTestDesk, schemaOf } from './open-postgres-test-desk.ts'

soundnessModel(async () => {
  const tested = await openPostgresTestDesk()
  return { ...tested, findUnsound: createFindUnsound(schemaOf(tested.url)) }
})

let kept: string | undefined

transcriptContract('openPostgresDesk()', (now, name) => {
  const url = name === undefined ? makeDatabase() : (kept ?? makeDatabase())
  if (name !== undefined) kept = url
  return openPostgresDesk({ url, now, log: silentLog })
})
