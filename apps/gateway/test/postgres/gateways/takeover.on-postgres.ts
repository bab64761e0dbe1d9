// Tests that a gateway takes over the work of a gateway that died.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MessageRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { eventually } from '../../setup/gateway.ts'
import { sendUntilAcknowledged, untilAllAnswered } from '../load.ts'
import { makeClusterPair } from './open-cluster-pair.ts'

test('a gateway takes over the turn of a gateway that died within it, and answers once', {
  timeout: 240_000,
}, async () => {
  const { pair } = await makeClusterPair()
  const [one, two] = pair.gateways
  // The second gateway is down, so that the first one leases the turn.
  await one.start()
  await one.send({ id: 'm1', text: `hang ${pair.directory}`, isDetached: true })
  await eventually(async () => existsSync(join(pair.directory, 'hung')))
  await one.kill()
  await two.start()
  // This is long before the end of the lease, which lasts a minute.
  const [message] = await untilAllAnswered(two, 1, 30_000)
  expect(message?.id).toBe('m1')
  expect(await sendUntilAcknowledged([two], { id: 'm1', text: `hang ${pair.directory}` })).toMatchObject({
    status: 200,
  })
  const record = await two.ask<MessageRecord>('/messages/m1')
  expect([record.state, record.duplicates]).toEqual(['answered', 1])
})
