// Makes two gateways on a database server of their own.
import { join } from 'node:path'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { onTestFinished } from 'vitest'
import type { Pair } from '../pair.ts'
import { makePair } from '../pair.ts'

/** The agents of each pair. */
export const stubbornAgents = { stubborn: { use: join(import.meta.dirname, '../../agents/waiting/stubborn.ts') } }

/** Opens a server with durable commits, which is removed after the test. */
export async function openCluster(): Promise<Cluster> {
  const cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  onTestFinished(() => cluster.remove())
  await cluster.start()
  return cluster
}

interface ClusterPair {
  readonly pair: Pair
  readonly cluster: Cluster
}

/** Opens a server with durable commits, and makes two gateways on it, which have not started. `preloads` has the URL of the module that each loads first. */
export async function makeClusterPair(preloads: readonly (string | undefined)[] = []): Promise<ClusterPair> {
  const cluster = await openCluster()
  const pair = await makePair(cluster.url, stubbornAgents, { preloads })
  onTestFinished(() => pair.close())
  return { pair, cluster }
}

/** Opens a server with durable commits, and two gateways on it. All of them end with the test. */
export async function openClusterPair(): Promise<ClusterPair> {
  const clusterPair = await makeClusterPair()
  await Promise.all(clusterPair.pair.gateways.map(gateway => gateway.start()))
  return clusterPair
}
