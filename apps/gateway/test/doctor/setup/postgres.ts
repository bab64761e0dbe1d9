// Opens the PostgreSQL server that the checks of a test file share.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster, findPostgres } from '@postern/testing/postgres-cluster'

interface TestServer {
  readonly url: string
  readonly port: number
  /** The address for a user without the right to create anything. */
  readonly readerUrl: string
}

const programs = findPostgres()
export const hasPostgres = programs !== undefined

let cluster: Promise<Cluster> | undefined

/** Finds or starts the one server for the tests of a file. */
export async function findServer(): Promise<TestServer> {
  cluster ??= startCluster()
  const { url, port } = await cluster
  const reader = new URL(url)
  reader.username = 'reader'
  return { url, port, readerUrl: reader.href }
}

async function startCluster(): Promise<Cluster> {
  const startedCluster = await createCluster({ programs: programs ?? '' })
  await startedCluster.start()
  const password = decodeURIComponent(new URL(startedCluster.url).password)
  const statement = `CREATE USER reader PASSWORD '${password}'`
  execFileSync(join(programs ?? '', 'psql'), [startedCluster.url, '-c', statement], { stdio: 'pipe' })
  return startedCluster
}

export async function closeServer(): Promise<void> {
  await (await cluster)?.remove()
  cluster = undefined
}
