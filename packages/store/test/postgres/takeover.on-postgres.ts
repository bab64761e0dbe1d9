import { LeaseLost } from '@postern/message'
import type { Turn } from '@postern/pipeline'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { connectionsOfGateway, operatorPoolSize } from '../../src/postgres/connection/pool.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

/** The clock stands still, so no lease ends by itself. */
const now = () => Date.UTC(2026, 5, 1)
const open = (url: string, holder?: string) =>
  openPostgresStore({ channels: sketchedChannels, url, now, log: discardLog, holder })
const leaseAs = (store: GatewayStore, holder: string, limit = 1) => store.leaseTurns({ holder, limit, leaseMs: 60_000 })

async function leaseOne(store: GatewayStore, holder: string): Promise<Turn> {
  const [turn] = await leaseAs(store, holder)
  if (!turn) throw new Error('no turn is due')
  return turn
}

/** Waits until turns are due for one of the stores, for any reason. */
function untilDue(stores: Readonly<Record<string, GatewayStore>>): Promise<readonly Turn[]> {
  return vi.waitUntil(
    async () => {
      const taken = await Promise.all(Object.entries(stores).map(([holder, store]) => leaseAs(store, holder, 10)))
      return taken.flat().length > 0 && taken.flat()
    },
    { timeout: 40_000, interval: 200 },
  )
}

async function listGateways(url: string): Promise<readonly string[]> {
  const rows = await askServer<{ lease_owner: string }>(
    'SELECT lease_owner FROM gateways ORDER BY lease_owner',
    schemaOf(url),
  )
  return rows.map(({ lease_owner }) => lease_owner)
}

/** Ends all connections of one gateway, which then reconnects. */
async function cutOff(url: string, holder: string): Promise<void> {
  const ended = await askServer(
    `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN gateways g ON l.locktype = 'advisory'
       AND ((l.classid::bigint << 32) | l.objid::bigint) = g.lock WHERE g.lease_owner = '${holder}' AND l.granted`,
    schemaOf(url),
  )
  // Connections that only read for operators hold no lease.
  expect(ended.length).toBe(connectionsOfGateway - operatorPoolSize)
}

test('a gateway takes over a dead one’s leases within seconds, without clocks, and the dead one’s answer is late', async () => {
  const url = makeDatabase()
  const [dead, heartbeat] = [await open(url, "de'ad"), await open(url, 'living')]
  await dead.admit(sketchIntake('m1'), 'c')
  const held = await leaseOne(dead, "de'ad")
  expect(await leaseAs(heartbeat, 'living')).toEqual([])
  await dead.close()
  const [turn] = await untilDue({ heartbeat })
  expect(turn).toMatchObject({ attempt: 2, content: { id: 'm1' } })
  expect(await listGateways(url)).toEqual(['living'])
  await expect(heartbeat.commit(held, sketchAnswer(held, 'late'))).rejects.toThrow(LeaseLost)
  if (turn) await heartbeat.commit(turn, sketchAnswer(turn, 'in time'))
  await heartbeat.close()
})

test('a gateway keeps its leases through a short stall or lost connections, and so does an older release', async () => {
  const url = makeDatabase()
  const [dead, stalled, old, heartbeat] = [
    await open(url, 'dead'),
    await open(url, 'stalled'),
    await open(url),
    await open(url, 'living'),
  ]
  for (const id of ['m1', 'm2', 'm3']) await old.admit(sketchIntake(id), 'c')
  const held = [await leaseOne(stalled, 'stalled'), await leaseOne(old, 'old')]
  const lost = await leaseOne(dead, 'dead')
  await dead.close()
  await cutOff(url, 'stalled')
  // All gateways are checked as often as the dead one.
  expect((await untilDue({ heartbeat })).map(({ message }) => message)).toEqual([lost.message])
  expect(await listGateways(url)).toEqual(['living', 'stalled'])
  for (const turn of held) await old.commit(turn, sketchAnswer(turn, 'in time'))
  await Promise.all([stalled, old, heartbeat].map(store => store.close()))
})

test('only one of several gateways takes over a lease', async () => {
  const url = makeDatabase()
  const [dead, one, two] = [await open(url, 'dead'), await open(url, 'one'), await open(url, 'two')]
  await dead.admit(sketchIntake('m1'), 'c')
  await leaseOne(dead, 'dead')
  await dead.close()
  expect((await untilDue({ one, two })).length).toBe(1)
  expect(await listGateways(url)).toEqual(['one', 'two'])
  await Promise.all([one.close(), two.close()])
})
