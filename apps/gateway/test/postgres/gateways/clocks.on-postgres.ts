// Tests that gateways keep their turns although clocks differ or machines sleep.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { MessageRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { eventually } from '../../setup/gateway.ts'
import type { Pair } from '../pair.ts'
import { makeClusterPair } from './open-cluster-pair.ts'

/** Makes two gateways that preload these clock modules, and starts the first one. */
async function openClockedPair(clocks: readonly (string | undefined)[]): Promise<Pair> {
  const { pair } = await makeClusterPair(clocks)
  await pair.gateways[0].start()
  return pair
}

/** Expects that the second gateway, which starts during a turn of the first one, does not take the turn over. */
async function expectTurnKept({ gateways: [one, two], directory }: Pair) {
  await one.send({ id: 'm1', text: `hang ${directory}`, isDetached: true })
  await eventually(async () => existsSync(join(directory, 'hung')))
  await two.start()
  // Wait for several polls of the second gateway, which polls once a second.
  await delay(8_000)
  const record = await two.ask<MessageRecord>('/messages/m1')
  expect([record.state, record.response]).toEqual(['working', null])
  return two
}

test('a gateway whose clock is 61 seconds ahead does not take a turn that another one runs', {
  timeout: 240_000,
}, async () => {
  const clockedPair = await openClockedPair([
    undefined,
    pathToFileURL(join(import.meta.dirname, 'clock-ahead.ts')).href,
  ])
  const secondGateway = await expectTurnKept(clockedPair)
  await secondGateway.send({ id: 'm2', text: 'later', context: 'another' })
  expect((await secondGateway.ask<MessageRecord>('/messages/m2')).state).toBe('answered')
})

test.each([
  ['has just slept for 200 seconds', '', 0],
  ['was paused for 200 seconds, unknown to its clocks,', '?paused', 5_000],
])('a gateway whose machine %s keeps its turns', { timeout: 240_000 }, async (_state, kind, waitMs) => {
  const clockedPair = await openClockedPair([
    `${pathToFileURL(join(import.meta.dirname, 'clock-slept.ts')).href}${kind}`,
  ])
  const [one] = clockedPair.gateways
  one.pause()
  one.resume()
  await delay(waitMs)
  await expectTurnKept(clockedPair)
})
