// Checks the costs of a message with a store on PostgreSQL.
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Company } from './ceilings.ts'
import { ceilings, findCostFaults } from './ceilings.ts'
import type { CountedProcess } from './counted-process.ts'
import { openCountedProcess } from './counted-process.ts'
import type { CountingProxy } from './counting-proxy.ts'
import { openCountingProxy } from './counting-proxy.ts'
import type { PathCosts } from './measure-paths.ts'
import { measurePathCosts, selectKind } from './measure-paths.ts'

let cluster: Cluster
let wire: CountingProxy
let gateway: CountedProcess
let costs: Readonly<Record<Company, PathCosts>>

beforeAll(async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  wire = await openCountingProxy(cluster.port)
  const url = new URL(cluster.url)
  url.port = String(wire.port)
  gateway = await openCountedProcess({ url: url.href, wire })
  costs = await measurePathCosts(gateway)
}, 300_000)
afterAll(async () => {
  await gateway?.close()
  await wire?.close()
  await cluster?.remove()
})

test.each(ceilings.filter(({ kind }) => kind === 'rounds'))(
  'the number of round trips to PostgreSQL matches its ceiling for messages that come $company',
  ceiling => {
    expect(findCostFaults(ceiling, selectKind(costs[ceiling.company], ceiling.kind))).toEqual([])
  },
)
