import { storeContract } from '@postern/testing'
import { openPostgresTestStore } from './open-postgres-test-store.ts'

storeContract('openPostgresStore()', openPostgresTestStore, { first: 2, of: 3 })
