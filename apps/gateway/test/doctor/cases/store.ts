// Lists installations for the doctor's checks of stores.
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { writeBackupTime } from '@postern/operator'
import { judgeServerTransport, judgeServerVersion, outcomeFor } from '@postern/operator/doctor'
import { openPostgresStore } from '@postern/store/postgres'
import { createLog } from '../../../src/observe/log.ts'
import { openDoctorBench, serve, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { findServer } from '../setup/postgres.ts'
import { describeConfigured } from '../setup/shared-gateway.ts'

/** Examines a database with several pages, sound or damaged. */
async function examineDatabase({ isDamaged }: { readonly isDamaged: boolean }) {
  const deps = openDoctorBench()
  const path = join(deps.directory, 'postern.db')
  const db = new DatabaseSync(path)
  db.exec(`CREATE TABLE t (text TEXT); WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO t SELECT i || hex(randomblob(20)) FROM n`)
  db.close()
  if (isDamaged) writeFileSync(path, readFileSync(path).fill(0xee, 8_192))
  return examine('store.database', deps)
}

/** Examines an S3 service that stores objects, or refuses them. */
async function examineBucket(putStatus: number) {
  const objects = new Map<string, Buffer>()
  const statusOf: Readonly<Record<string, (url: string) => number>> = {
    PUT: () => putStatus,
    DELETE: url => (objects.delete(url) ? 204 : 404),
    GET: url => (objects.has(url) ? 200 : 404),
  }
  const port = await serveHttp(async (request, answer) => {
    const { method = '', url = '' } = request
    if (method === 'PUT') objects.set(url, await buffer(request))
    answer.statusCode = statusOf[method]?.(url) ?? 405
    answer.end(method === 'GET' ? objects.get(url) : undefined)
  })
  const endpoint = `http://127.0.0.1:${port}`
  const storage = { kind: 's3', endpoint, bucket: 'files', access_key: 'key', secret_key: 'secret' }
  const deps = openDoctorBench({
    settings: { web: { enabled: true, storage }, network: { allow_private: [endpoint] } },
  })
  return examine('store.files', { ...deps, gateway: await describeConfigured(deps.config) })
}

function examineBackup(daysAgo: number) {
  const deps = openDoctorBench()
  writeBackupTime(deps.directory, new Date(Date.now() - daysAgo * 86_400_000).toISOString())
  return examine('store.backup', deps)
}

/** Examines a PostgreSQL server that runs. */
const examineServer = async (id: string, url?: string, now = Date.now) =>
  examine(id, openDoctorBench({ settings: { store: url ?? (await findServer()).url }, deps: { now } }))

/** Examines the server through a proxy that delays each chunk by 30 ms. */
async function examineSlowLine() {
  const { url, port } = await findServer()
  const slow = await serve(
    createTcpServer(clientSocket => {
      const serverSocket = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [clientSocket, serverSocket],
        [serverSocket, clientSocket],
      ] as const) {
        from.on('data', chunk => void delay(30).then(() => to.writable && to.write(chunk)))
        from.on('close', () => to.destroy())
        from.on('error', () => to.destroy())
      }
    }),
  )
  return examineServer('store.server_latency', url.replace(`:${port}/`, `:${slow}/`))
}

/** Examines an ingress gateway on a database where another gateway works, or none. */
async function examineWorkers(schema: string, holder?: string) {
  const url = `${(await findServer()).url}?schema=${schema}`
  const log = createLog({ level: 'silent', readable: false })
  const store = await openPostgresStore({ url, now: Date.now, log, channels: [], holder })
  try {
    return await examine('store.workers', openDoctorBench({ settings: { store: url, roles: ['ingress'] } }))
  } finally {
    await store.close()
  }
}

const standing = {
  location: 'db.test',
  schema: 'postern',
  skewMs: 0,
  roundTripMs: 1,
  mayCreate: true,
  version: 12,
  isExposed: true,
}

/** Examines an installation with this origin; the shared gateway has its own origin. */
async function examineSetup(origin: string) {
  const deps = openDoctorBench({ settings: { origin } })
  return examine('store.setup', { ...deps, gateway: await describeConfigured(deps.config) })
}

/** Examines a database file of this release, or of the first one. */
function examineSchema({ isOld }: { readonly isOld: boolean }) {
  const deps = openDoctorBench()
  const fixture = new URL('../../../../../fixtures/schema/1/postern.db.gz', import.meta.url)
  if (isOld) writeFileSync(join(deps.directory, 'postern.db'), gunzipSync(readFileSync(fixture)))
  return examine('store.schema', deps)
}

export const storeCases: Cases = {
  'store.schema': {
    fails: {
      examine: async () => examineSchema({ isOld: true }),
      says: 'its tables have number 1, and a start of this release',
    },
    holds: { examine: async () => examineSchema({ isOld: false }), says: 'a start changes no table' },
  },
  'store.setup': {
    fails: {
      examine: () => examineSetup('https://moved.test'),
      says: 'holds the data of the origin https://agents.test, and this gateway has the origin https://moved.test',
    },
    holds: { examine: () => examineSetup('https://agents.test'), says: 'is that of this gateway' },
  },
  'store.database': {
    fails: { examine: () => examineDatabase({ isDamaged: true }), says: 'is damaged' },
    holds: { examine: () => examineDatabase({ isDamaged: false }), says: 'its pages are sound' },
  },
  'store.files': {
    fails: { examine: () => examineBucket(403), says: 'their store answered 403' },
    holds: { examine: () => examineBucket(200), says: 'can be written, read and deleted' },
  },
  'store.backup': {
    fails: { examine: async () => examineBackup(9), says: 'the last backup is 9 days old' },
    holds: { examine: async () => examineBackup(1), says: 'the last backup is 1 days old' },
  },
}

/** The cases that need a PostgreSQL on this machine. */
export const serverCases: Cases = {
  'store.server_version': {
    // No server that old is available.
    fails: {
      examine: async () => [outcomeFor('PostgreSQL', judgeServerVersion(standing))],
      says: 'PostgreSQL 12 no longer gets',
    },
    holds: { examine: () => examineServer('store.server_version'), says: 'PostgreSQL ' },
  },
  'store.server_rights': {
    fails: {
      async examine() {
        return examineServer('store.server_rights', (await findServer()).readerUrl)
      },
      says: 'may not make tables in the schema "postern"',
    },
    holds: { examine: () => examineServer('store.server_rights'), says: 'may make and change the tables' },
  },
  'store.server_clock': {
    fails: {
      examine: () => examineServer('store.server_clock', undefined, () => Date.now() + 60_000),
      says: "the database server's clock is",
    },
    holds: { examine: () => examineServer('store.server_clock'), says: 'the clocks agree' },
  },
  'store.server_latency': {
    fails: { examine: examineSlowLine, says: 'there and back' },
    holds: { examine: () => examineServer('store.server_latency'), says: 'there and back' },
  },
  'store.workers': {
    fails: { examine: () => examineWorkers('ingress_alone'), says: 'messages wait' },
    holds: {
      examine: () => examineWorkers('with_worker', 'a worker'),
      says: '1 of the gateways at this database take',
    },
  },
  'store.server_transport': {
    // Every server of this machine is near.
    fails: {
      examine: async () => [outcomeFor('PostgreSQL', judgeServerTransport(standing))],
      says: 'is not encrypted',
    },
    holds: { examine: () => examineServer('store.server_transport'), says: 'nobody on the network' },
  },
}
