import { storeContract } from '@postern/testing'
import { openTestStore } from '../../test/open-test-store.ts'

storeContract('openSqliteStore()', openTestStore)
