import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { backUp, restore } from '@postern/operator/views'
import { beforeAll, expect, test } from 'vitest'
import type { ConfigFile } from '../../src/config/read-config.ts'
import { readConfigFile } from '../../src/config/read-config.ts'
import { createLog } from '../../src/observe/log.ts'
import { findDataLocation, openOperatorClient } from '../../src/running/operator-client.ts'
import { openDev } from '../../src/running/run.ts'
import { examineUnopenedGateway } from '../../src/running/unopened-doctor.ts'

// These tests let a newer program open the data of an earlier release, whose gateway may run elsewhere.

const fixture = new URL('../../../../fixtures/schema/1/postern.db.gz', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'postern-pending-'))
const databasePath = join(folder, 'data/postern.db')
let configFile: ConfigFile
let originalBytes: Buffer

beforeAll(async () => {
  mkdirSync(join(folder, 'data'))
  writeFileSync(databasePath, gunzipSync(readFileSync(fixture)))
  originalBytes = readFileSync(databasePath)
  const environment = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }
  configFile = await readConfigFile({ environment, workingDir: folder, settings: { data: 'data' } })
})

const readSchemaVersion = () => {
  const db = new DatabaseSync(databasePath, { readOnly: true })
  const schemaVersion = db.prepare('PRAGMA user_version').get()?.user_version
  db.close()
  return schemaVersion
}

test('backup, doctor and commands that read leave the tables of an earlier release unchanged', async () => {
  const client = await openOperatorClient(configFile)
  const fault = await client.get('/healthz').catch((error: unknown) => error)
  await client.close()
  expect(String(fault)).toMatch(/is of an earlier release: its tables have number 1, and a start .* \(adds /)
  const { findings } = await examineUnopenedGateway({
    openError: fault,
    groups: ['store'],
    readFile: async () => configFile,
  })
  expect(findings.find(({ id }) => id === 'store.schema')).toMatchObject({
    verdict: 'failure',
    fix: expect.stringContaining('Back the data up, then start the gateway of this release'),
  })
  const output = { json: false, print: () => undefined }
  const backupFolder = join(folder, 'copy')
  const findData = async () => findDataLocation(configFile)
  await backUp(output, { folder: backupFolder }, { findData })
  await restore(output, { folder: backupFolder, check: true }, { findData })
  expect(readFileSync(databasePath).equals(originalBytes)).toBe(true)
})

test('a start migrates the tables to the newest version, and commands then read them', async () => {
  const dev = await openDev(configFile, { log: createLog({ level: 'silent', readable: false }) })
  await dev.stop()
  expect(readSchemaVersion()).toBeGreaterThan(1)
  const client = await openOperatorClient(configFile)
  expect(await client.get('/healthz')).toBeDefined()
  await client.close()
})
