import { deskContract } from '@postern/testing'
import { openPostgresTestDesk } from './open-postgres-test-desk.ts'

deskContract('openPostgresDesk()', openPostgresTestDesk, { first: 0, of: 3 })
