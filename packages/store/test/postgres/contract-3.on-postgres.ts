import { deskContract } from '@postern/testing'
import { openPostgresTestDesk } from './open-postgres-test-desk.ts'

deskContract('openPostgresDesk()', openPostgresTestDesk, { first: 2, of: 3 })
