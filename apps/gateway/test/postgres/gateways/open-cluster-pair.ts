// Opens two gateways on a database server of their own.
import { join } from 'node:path'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { onTestFinished } from 'vitest'
import type { Pair } from '../pair.ts'
import { openPair } from '../pair.ts'

/** The agents of each pair. */
export const stubbornAgents = { stubborn: { use: join(import.meta.dirname, '../../agents/waiting/stubborn.ts') } }

/** Opens a server with durable commits, which is removed after the test. */
export async function openCluster(): Promise<Cluster> {
  const cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  onTestFinished(() => cluster.remove())
  await cluster.start()
  return cluster
}

/** Opens a server with durable commits, and two gateways on it. All of them end with the test. `preloads` has the URL of the module that each gateway loads first. */
export async function openClusterPair(
  preloads: readonly (string | undefined)[] = [],
): Promise<{ readonly pair: Pair; readonly cluster: Cluster }> {
  const cluster = await openCluster()
  const pair = await openPair(cluster.url, stubbornAgents, [{}, {}], preloads)
  onTestFinished(() => pair.close())
  return { pair, cluster }
}
