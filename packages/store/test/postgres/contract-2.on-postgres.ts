import { storeContract } from '@postern/testing'
import { openPostgresTestStore } from './open-postgres-test-store.ts'

storeContract('openPostgresStore()', openPostgresTestStore, { first: 1, of: 3 })
