import { deskContract } from '@postern/testing'
import { openPostgresTestDesk } from './open-postgres-test-desk.ts'

deskContract('openPostgresDesk()', openPostgresTestDesk, { first: 1, of: 3 })
