import { storeContract } from '@postern/testing'
import { openStoreUnderTest } from '../../test/open-test-store.ts'

storeContract('openSqliteStore()', openStoreUnderTest)
