// Tests gateways whose database server is away for a time.
import { expect, test } from 'vitest'
import { eventually } from '../../setup/gateway.ts'
import { sendUntilAcknowledged, untilAllAnswered } from '../load.ts'
import { runSql } from '../run-sql.ts'
import { openClusterPair } from './open-cluster-pair.ts'

test('gateways tell senders to retry while the server is away, and later answer all acknowledged messages', {
  timeout: 240_000,
}, async () => {
  const { pair, cluster } = await openClusterPair()
  const { gateways } = pair
  let [isAway, isOver, refused, number] = [false, false, 0, 0]
  const acknowledged: string[] = []
  const senders = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      number += 1
      const message = { id: `m${number}`, text: `m${number}`, isDetached: true }
      const first = await gateways[number % 2]?.send(message)
      if (first?.status !== 200) {
        expect([first?.status, first?.retryAfter, isAway]).toEqual([503, '5', true])
        refused += 1
        await sendUntilAcknowledged(gateways, message)
      }
      acknowledged.push(message.id)
    }
  })
  // The race reports the error of a sender at once, instead of a time-out.
  const sending = Promise.all(senders)
  const whileSending = (probe: () => boolean) => Promise.race([sending, eventually(async () => probe(), 60_000)])
  await whileSending(() => acknowledged.length > 40)
  isAway = true
  await cluster.stop('immediate')
  await whileSending(() => refused >= 4)
  for (const gateway of gateways) {
    expect(await gateway.probe('/readyz')).toMatchObject({ status: 503, retryAfter: '5' })
    expect(await gateway.probe('/healthz')).toMatchObject({ status: 200 })
  }
  await cluster.start()
  for (const gateway of gateways) await eventually(async () => (await gateway.probe('/readyz')).status === 200)
  const acknowledgedBefore = acknowledged.length
  await whileSending(() => acknowledged.length > acknowledgedBefore + 40)
  isOver = true
  await sending
  const messages = await untilAllAnswered(pair.gateways[0], acknowledged.length)
  expect(messages.map(({ id }) => id).toSorted()).toEqual(acknowledged.toSorted())
  const text = await runSql(
    cluster.url,
    "SELECT count(*), count(DISTINCT answers) FROM postern.messages WHERE kind = 'response'",
  )
  expect(text).toBe(`${acknowledged.length}|${acknowledged.length}`)
})
