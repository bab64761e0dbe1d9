import { deskContract } from '@postern/testing'
import { openTestDesk } from '../test/open-test-desk.ts'

deskContract('openSqliteDesk()', openTestDesk)
