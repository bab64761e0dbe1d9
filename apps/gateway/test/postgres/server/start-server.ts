// Starts the PostgreSQL server that all tests of the project `postgres` share, and ends it after them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCluster } from '@postern/testing/postgres-cluster'
import { findServerPrograms } from './find-server.ts'

/** Starts the server before the first test. @throws CannotRun when this machine has no server and cannot fetch one */
export async function setup(): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-postgres-'))
  const programs = process.env.TEST_POSTGRES_PROGRAMS ?? (await findServerPrograms(directory))
  // The setting `fsync=off` is safe here, because tests of durability start servers of their own.
  const cluster = await createCluster({ programs, settings: ['fsync=off', 'max_connections=200'] })
  await cluster.start()
  Object.assign(process.env, {
    TEST_POSTGRES: cluster.url,
    TEST_POSTGRES_PROGRAMS: programs,
  })
  return async () => {
    await cluster.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}
