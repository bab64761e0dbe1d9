import { loadPostgres } from '../../platform/load-postgres.ts'
import type { Check } from '../check.ts'
import { checkBackupAge } from './backup.ts'
import { checkByteStore } from './bytes.ts'
import {
  checkDatabase,
  checkServer,
  judgeServerClock,
  judgeServerLatency,
  judgeServerRights,
  judgeServerTransport,
  judgeServerVersion,
} from './database.ts'

const group = 'store'

/** What is remembered, and where. */
export const storeChecks: readonly Check[] = [
  {
    id: 'store.database',
    group,
    what: 'The database is there and sound: the check reads a file from end to end, or asks the server.',
    fix: 'Put the file back from a backup, or start the database server.',
    needs: [],
    timeoutMs: 25_000,
    run: checkDatabase,
  },
  {
    id: 'store.server_version',
    group,
    what: 'PostgreSQL is of a release that gets security fixes.',
    fix: 'Upgrade PostgreSQL.',
    needs: ['postgres'],
    run: checkServer(judgeServerVersion),
  },
  {
    id: 'store.server_rights',
    group,
    what: 'The user of the gateway may make and change its tables in PostgreSQL.',
    fix: 'Grant CREATE and USAGE on the schema to the user.',
    needs: ['postgres'],
    run: checkServer(judgeServerRights),
  },
  {
    id: 'store.server_clock',
    group,
    what: "PostgreSQL's clock agrees with ours, to two seconds.",
    fix: 'Let both machines keep time by NTP.',
    needs: ['postgres'],
    async run(deps) {
      const { mostSkewMs } = await loadPostgres()
      return checkServer(standing => judgeServerClock(standing, mostSkewMs))(deps)
    },
  },
  {
    id: 'store.server_latency',
    group,
    what: 'A statement to PostgreSQL takes less than 20 ms there and back.',
    fix: 'Run the gateway in the same network as the database.',
    needs: ['postgres'],
    run: checkServer(judgeServerLatency),
  },
  {
    id: 'store.server_transport',
    group,
    what: 'TLS protects the connection to a PostgreSQL on another machine.',
    fix: 'Add `?sslmode=verify-full` to the URL of `store`.',
    needs: ['postgres'],
    run: checkServer(judgeServerTransport),
  },
  {
    id: 'store.files',
    group,
    what: 'The gateway can write a file to the S3 bucket, read it and delete it.',
    fix: 'Correct `web.storage`: endpoint, bucket, keys and rights.',
    needs: ['gateway'],
    timeoutMs: 20_000,
    run: checkByteStore,
  },
  {
    id: 'store.backup',
    group,
    what: 'The last backup by `postern backup` is no older than a week.',
    fix: 'Run `postern backup` every day, and keep the copies elsewhere.',
    needs: ['sqlite'],
    run: checkBackupAge,
  },
]
