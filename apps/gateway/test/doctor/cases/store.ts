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
    failingCase: {
      runCheck: async () => examineSchema({ isOld: true }),
      expectedDetail: 'its tables have number 1, and a start of this release',
    },
    passingCase: { runCheck: async () => examineSchema({ isOld: false }), expectedDetail: 'a start changes no table' },
  },
  'store.setup': {
    failingCase: {
      runCheck: () => examineSetup('https://moved.test'),
      expectedDetail:
        'holds the data of the origin https://agents.test, and this gateway has the origin https://moved.test',
    },
    passingCase: { runCheck: () => examineSetup('https://agents.test'), expectedDetail: 'is that of this gateway' },
  },
  'store.database': {
    failingCase: { runCheck: () => examineDatabase({ isDamaged: true }), expectedDetail: 'is damaged' },
    passingCase: { runCheck: () => examineDatabase({ isDamaged: false }), expectedDetail: 'its pages are sound' },
  },
  'store.files': {
    failingCase: { runCheck: () => examineBucket(403), expectedDetail: 'their store answered 403' },
    passingCase: { runCheck: () => examineBucket(200), expectedDetail: 'can be written, read and deleted' },
  },
  'store.backup': {
    failingCase: { runCheck: async () => examineBackup(9), expectedDetail: 'the last backup is 9 days old' },
    passingCase: { runCheck: async () => examineBackup(1), expectedDetail: 'the last backup is 1 days old' },
  },
}

/** The cases that need a PostgreSQL on this machine. */
export const serverCases: Cases = {
  'store.server_version': {
    // No server that old is available.
    failingCase: {
      runCheck: async () => [outcomeFor('PostgreSQL', judgeServerVersion(standing))],
      expectedDetail: 'PostgreSQL 12 no longer gets',
    },
    passingCase: { runCheck: () => examineServer('store.server_version'), expectedDetail: 'PostgreSQL ' },
  },
  'store.server_rights': {
    failingCase: {
      async runCheck() {
        return examineServer('store.server_rights', (await findServer()).readerUrl)
      },
      expectedDetail: 'may not make tables in the schema "postern"',
    },
    passingCase: {
      runCheck: () => examineServer('store.server_rights'),
      expectedDetail: 'may make and change the tables',
    },
  },
  'store.server_clock': {
    failingCase: {
      runCheck: () => examineServer('store.server_clock', undefined, () => Date.now() + 60_000),
      expectedDetail: "the database server's clock is",
    },
    passingCase: { runCheck: () => examineServer('store.server_clock'), expectedDetail: 'the clocks agree' },
  },
  'store.server_latency': {
    failingCase: { runCheck: examineSlowLine, expectedDetail: 'there and back' },
    passingCase: { runCheck: () => examineServer('store.server_latency'), expectedDetail: 'there and back' },
  },
  'store.workers': {
    failingCase: { runCheck: () => examineWorkers('ingress_alone'), expectedDetail: 'messages wait' },
    passingCase: {
      runCheck: () => examineWorkers('with_worker', 'a worker'),
      expectedDetail: '1 of the gateways at this database take',
    },
  },
  'store.server_transport': {
    // Every server of this machine is near.
    failingCase: {
      runCheck: async () => [outcomeFor('PostgreSQL', judgeServerTransport(standing))],
      expectedDetail: 'is not encrypted',
    },
    passingCase: { runCheck: () => examineServer('store.server_transport'), expectedDetail: 'nobody on the network' },
  },
}
