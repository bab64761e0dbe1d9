// Tests gateways on one database under single faults of the server or of a gateway.
import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { mountSmallDisk } from '../setup/small-disk.ts'
import { checkAnswers, sendUntilAcknowledged, startLoad } from './load.ts'
import type { Pair, PairedGateway } from './pair.ts'
import { openPair } from './pair.ts'
import { runSql } from './run-sql.ts'

const stubbornAgent = { use: join(import.meta.dirname, '../agents/waiting/stubborn.ts') }

let cluster: Cluster | undefined
let pair: Pair | undefined
afterEach(async () => {
  for (const gateway of pair?.gateways ?? []) gateway.resume()
  await pair?.close()
  pair = undefined
  await cluster?.remove()
})

async function openPairWithCluster(): Promise<{ readonly pair: Pair; readonly cluster: Cluster }> {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { stubborn: stubbornAgent })
  return { pair, cluster }
}

test('gateways recover after several server restarts under load, and lose or repeat no answer', {
  timeout: 400_000,
}, async () => {
  const { pair, cluster } = await openPairWithCluster()
  const load = startLoad(pair.gateways)
  for (const mode of ['immediate', 'fast', 'immediate', 'fast'] as const) {
    await load.waitForAnswers(40)
    await cluster.stop(mode)
    await cluster.start()
  }
  await load.waitForAnswers(40)
  for (const gateway of pair.gateways) await eventually(async () => (await gateway.probe('/readyz')).status === 200)
  await checkAnswers([load], pair.gateways[0], cluster.url)
})

test('gateways recover after the server cuts their connections under load, and lose or repeat no answer', {
  timeout: 400_000,
}, async () => {
  const { pair, cluster } = await openPairWithCluster()
  const load = startLoad(pair.gateways)
  const cutConnectionsSql =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'postern%'"
  for (let index = 0; index < 20; index += 1) {
    await load.waitForAnswers(10)
    expect(Number(await runSql(cluster.url, cutConnectionsSql))).toBeGreaterThan(0)
  }
  await load.waitForAnswers(40)
  await checkAnswers([load], pair.gateways[1], cluster.url)
})

test('a gateway that pauses for ninety seconds under load does not delay the other one, and recovers by itself', {
  timeout: 500_000,
}, async () => {
  const { pair, cluster } = await openPairWithCluster()
  const [pausedGateway, otherGateway] = pair.gateways
  const otherLoad = startLoad([otherGateway], 'two')
  const pausedLoad = startLoad([pausedGateway], 'one')
  // There are several pauses, because it is chance whether the gateway holds a lock at that moment.
  for (const pauseMs of [7_000, 7_000, 90_000]) {
    await pausedLoad.waitForAnswers(20)
    pausedGateway.pause()
    const pauseEnd = performance.now() + pauseMs
    await otherLoad.waitForAnswers(20)
    const countStuckSql = `SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'
      AND application_name LIKE 'postern%' AND now() - state_change > interval '15 s'`
    expect(await runSql(cluster.url, countStuckSql)).toBe('0')
    await delay(Math.max(0, pauseEnd - performance.now()))
    pausedGateway.resume()
  }
  await eventually(async () => (await pausedGateway.probe('/readyz').catch(() => undefined))?.status === 200, 60_000)
  await pausedLoad.waitForAnswers(20)
  await otherLoad.waitForAnswers(20)
  await checkAnswers([otherLoad, pausedLoad], pausedGateway, cluster.url)
})

/** Pauses a gateway in the middle of a transaction that holds a lock. */
async function pauseInTransaction(gateway: PairedGateway, holdsLock: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    gateway.pause()
    if (await holdsLock()) return true
    gateway.resume()
    await delay(20)
    return false
  }, 100_000)
}

test('a gateway that pauses within a transaction loses it and its locks in seconds, and recovers by itself', {
  timeout: 300_000,
}, async () => {
  const { pair, cluster } = await openPairWithCluster()
  const [pausedGateway, otherGateway] = pair.gateways
  const load = startLoad([pausedGateway], 'one')
  await load.waitForAnswers(20)
  const countLockHoldersSql = `SELECT count(*) FROM pg_stat_activity a WHERE state LIKE 'idle in transaction%'
    AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.mode = 'ExclusiveLock')`
  const holdsLock = async () => (await runSql(cluster.url, countLockHoldersSql)) !== '0'
  await pauseInTransaction(pausedGateway, holdsLock)
  // This is half of the earlier limit for such a transaction, and twice the present one.
  await delay(12_000)
  expect(await holdsLock()).toBe(false)
  expect(await sendUntilAcknowledged([otherGateway], { id: 'other', text: 'other' })).toMatchObject({ status: 200 })
  pausedGateway.resume()
  await load.waitForAnswers(20)
  await load.end()
})

test('both gateways answer /readyz with 503 while the server’s disk is full, and recover afterwards', {
  timeout: 240_000,
}, async () => {
  const disk = mountSmallDisk(48)
  if (!disk) return
  onTestFinished(() => disk.remove())
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  const { uid, gid } = statSync(cluster.directory)
  chownSync(disk.directory, uid, gid)
  await cluster.start()
  // The tables are on that disk; the server's own files are elsewhere.
  await runSql(cluster.url, `CREATE TABLESPACE small LOCATION '${disk.directory}'`)
  await runSql(cluster.url, 'CREATE DATABASE small TABLESPACE small')
  pair = await openPair(cluster.url.replace(/postgres$/, 'small'), { stubborn: stubbornAgent })
  const [one, two] = pair.gateways
  expect(await one.send({ id: 'm1', text: 'm1' })).toMatchObject({ status: 200 })
  expect(await one.probe('/readyz')).toMatchObject({ status: 200 })
  disk.fill()
  // The server first uses up the space that was still free in its pages.
  await eventually(async () => (await one.probe('/readyz')).status === 503, 100_000)
  expect(await two.probe('/readyz')).toMatchObject({ status: 503, retryAfter: '5' })
  expect(await one.probe('/healthz')).toMatchObject({ status: 200 })
  disk.clear()
  for (const gateway of pair.gateways) await eventually(async () => (await gateway.probe('/readyz')).status === 200)
  expect(await sendUntilAcknowledged([one, two], { id: 'm2', text: 'm2' })).toMatchObject({ status: 200 })
})
