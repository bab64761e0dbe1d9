import { sketchedChannels } from '@postern/testing'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { soundnessModel } from '../soundness-model.ts'
import { transcriptContract } from '../transcript-contract.ts'
import { createFindUnsound } from './find-unsound.ts'
import { makeDatabase, openPostgresTestStore, schemaOf } from './open-postgres-test-store.ts'

soundnessModel(async () => {
  const tested = await openPostgresTestStore()
  return { ...tested, findUnsound: createFindUnsound(schemaOf(tested.url)) }
})

let kept: string | undefined

transcriptContract('openPostgresStore()', (now, name) => {
  const url = name === undefined ? makeDatabase() : (kept ?? makeDatabase())
  if (name !== undefined) kept = url
  return openPostgresStore({ channels: sketchedChannels, url, now, log: discardLog })
})
