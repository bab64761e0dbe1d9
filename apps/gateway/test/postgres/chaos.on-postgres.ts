// Tests gateways on one database under random faults of all kinds.
import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterEach, onTestFinished, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { mountSmallDisk } from '../setup/small-disk.ts'
import { checkAnswers, startLoad } from './load.ts'
import type { Pair } from './pair.ts'
import { openPair } from './pair.ts'
import { runSql } from './run-sql.ts'

const stubborn = { use: join(import.meta.dirname, '../agents/waiting/stubborn.ts') }
const messageTarget = 1_500

let cluster: Cluster | undefined
let pair: Pair | undefined
afterEach(async () => {
  for (const gateway of pair?.gateways ?? []) gateway.resume()
  await pair?.close()
  pair = undefined
  await cluster?.remove()
})

/** Opens a database whose tables are on a disk that can be filled, if this process may mount one; the server's own files are elsewhere. */
async function openDatabase(server: Cluster): Promise<{ readonly url: string; fillDisk(ms: number): Promise<void> }> {
  const disk = mountSmallDisk(96)
  if (!disk) return { url: server.url, fillDisk: async () => {} }
  onTestFinished(() => disk.remove())
  const { uid, gid } = statSync(server.directory)
  chownSync(disk.directory, uid, gid)
  await runSql(server.url, `CREATE TABLESPACE small LOCATION '${disk.directory}'`)
  await runSql(server.url, 'CREATE DATABASE small TABLESPACE small')
  return {
    url: server.url.replace(/postgres$/, 'small'),
    async fillDisk(ms) {
      disk.fill()
      await delay(ms)
      disk.clear()
    },
  }
}

test('gateways answer 1,500 messages once and in order despite crashes, pauses, server restarts, cut connections and a full disk', {
  timeout: 900_000,
}, async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  const server = cluster
  await server.start()
  const { url, fillDisk } = await openDatabase(server)
  pair = await openPair(url, { stubborn })
  const { gateways } = pair
  const [one, two] = gateways
  const load = startLoad(gateways)
  const faults: readonly (() => Promise<unknown>)[] = [
    async () => {
      await one.kill()
      await one.start()
    },
    async () => {
      await server.stop('immediate')
      await server.start()
    },
    () =>
      runSql(
        server.url,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'postern%'",
      ),
    async () => {
      two.pause()
      // This pause is longer than the server lets a transaction idle, and than others wait for a dead gateway.
      await delay(12_000)
      two.resume()
    },
    () => fillDisk(4_000),
    async () => {
      await Promise.all(gateways.map(gateway => gateway.kill()))
      await Promise.all(gateways.map(gateway => gateway.start()))
    },
  ]
  for (let index = 0; load.acknowledged.length < messageTarget; index += 1) {
    await load.waitForAnswers(60)
    await faults[index % faults.length]?.()
  }
  for (const gateway of gateways) await eventually(async () => (await gateway.probe('/readyz')).status === 200, 60_000)
  await checkAnswers([load], one, url)
})
