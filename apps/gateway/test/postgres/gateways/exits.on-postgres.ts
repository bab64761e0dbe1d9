// Tests gateways that explain why they exit.
import { expect, test } from 'vitest'
import { openPair } from '../pair.ts'
import { runSql } from '../run-sql.ts'
import { openCluster, openClusterPair } from './open-cluster-pair.ts'

test('a gateway of an earlier release exits with an explanation once a newer one has changed the tables', {
  timeout: 240_000,
}, async () => {
  const { pair, cluster } = await openClusterPair()
  const [one] = pair.gateways
  expect(await one.send({ id: 'm1', text: 'm1' })).toMatchObject({ status: 200 })
  await runSql(cluster.url, 'UPDATE postern.store_version SET version = version + 1')
  expect(await one.send({ id: 'm2', text: 'm2' })).toMatchObject({ status: 503, retryAfter: '5' })
  expect(await one.waitForExit()).toEqual({
    code: 1,
    output: expect.stringMatching(/^store: a newer release has changed/m),
  })
})

test('a gateway that cannot start says why and exits, although the database is available', {
  timeout: 120_000,
}, async () => {
  const cluster = await openCluster()
  const opening = openPair(cluster.url, { nobody: { use: './nowhere.ts' } })
  await expect(opening).rejects.toThrow(/^the gateway ended with 1: agents\.nobody\.use: /)
})
