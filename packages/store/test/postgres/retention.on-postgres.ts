import { retentionContract } from '../retention-contract.ts'
import { createFindUnsound } from './find-unsound.ts'
import { openPostgresTestStore, schemaOf } from './open-postgres-test-store.ts'

retentionContract(async () => {
  const tested = await openPostgresTestStore()
  return { ...tested, findUnsound: createFindUnsound(schemaOf(tested.url)) }
})
