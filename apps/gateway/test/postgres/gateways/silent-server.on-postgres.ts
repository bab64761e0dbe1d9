// Tests gateways whose database server does not answer.
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../setup/gateway.ts'
import { openDatabaseProxy } from '../database-proxy.ts'
import { sendUntilAcknowledged, untilAllAnswered } from '../load.ts'
import { openPair } from '../pair.ts'
import { openCluster, stubbornAgents } from './open-cluster-pair.ts'

test('a gateway notices within seconds that its server is silent, and refuses messages until it answers again', {
  timeout: 240_000,
}, async () => {
  const cluster = await openCluster()
  const wire = await openDatabaseProxy(cluster.port)
  onTestFinished(() => wire.close())
  const pair = await openPair(cluster.url.replace(`:${cluster.port}/`, `:${wire.port}/`), stubbornAgents)
  onTestFinished(() => pair.close())
  const [one] = pair.gateways
  expect(await one.send({ id: 'm1', text: 'm1' })).toMatchObject({ status: 200 })
  expect(await one.probe('/readyz')).toMatchObject({ status: 200 })
  wire.silence()
  const pendingRefusal = one.send({ id: 'm2', text: 'm2' })
  expect(await one.probe('/readyz')).toMatchObject({ status: 503, retryAfter: '5' })
  expect(await one.probe('/healthz')).toMatchObject({ status: 200 })
  expect(await pendingRefusal).toMatchObject({ status: 503, retryAfter: '5' })
  wire.speak()
  await eventually(async () => (await one.probe('/readyz')).status === 200)
  expect(await sendUntilAcknowledged(pair.gateways, { id: 'm2', text: 'm2' })).toMatchObject({ status: 200 })
  const messages = await untilAllAnswered(one, 2)
  expect(messages.map(({ id }) => id).toSorted()).toEqual(['m1', 'm2'])
})
