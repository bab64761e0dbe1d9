import { storeContract } from '@postern/testing'
import { openPostgresTestStore } from './open-postgres-test-store.ts'

storeContract('openPostgresStore()', openPostgresTestStore, { first: 0, of: 3 })
