import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog } from '@postern/message'
import { openSqliteStore } from '@postern/store'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../test/setup/gateway.ts'
import { openPausedAgents } from './paused-agents.ts'

/** Opens two gateways on one database that do not receive each other's notices. */
async function openTwoGateways() {
  const path = join(mkdtempSync(join(tmpdir(), 'postern-paused-')), 'postern.db')
  const open = async () => {
    const store = await openSqliteStore({ path, now: Date.now, log: noLog, channels: [] })
    const paused = await openPausedAgents({ store, concurrency: new Map([['desk', 4]]), everyMs: 50 })
    onTestFinished(async () => {
      paused.close()
      await store.close()
    })
    return paused
  }
  return [await open(), await open()] as const
}

test('a gateway that missed the notification still learns of a pause and its end', async () => {
  const [firstGateway, secondGateway] = await openTwoGateways()
  await firstGateway.setPaused('desk', true)
  await eventually(async () => secondGateway.isPaused('desk'))
  expect(secondGateway.turnsOf.get('desk')).toBe(0)
  await firstGateway.setPaused('desk', false)
  await eventually(async () => !secondGateway.isPaused('desk'))
  expect(secondGateway.turnsOf.get('desk')).toBe(4)
})
