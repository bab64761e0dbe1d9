import type { Json } from '@postern/message'
import type { AgentState } from '@postern/pipeline'
import type { RecordKey, RecordTies } from '@postern/transcript'
import { createMemoryRecords } from '@postern/transcript'
import { expect, test } from 'vitest'
import { createSwarmBus } from '../bus/bus.ts'
import { openSwarmData } from '../data/swarm-data.ts'
import { createSharedTies, createTurnRecords, openTurnState } from './records.ts'

const now = Date.UTC(2026, 0, 1)
const dayMs = 24 * 3_600_000
const limits = { shared_records: 10, shared_bytes: 1_000 }

/** Opens storages with a search, in the turn of message 7. `inserted` has the ties of each record that is created. */
async function openStorages() {
  const inserted: { readonly kind: string; readonly ties: RecordTies | undefined }[] = []
  const memory = createMemoryRecords()
  const records = {
    ...memory,
    insert(recordKey: RecordKey, value: Json, ties?: RecordTies) {
      inserted.push({ kind: recordKey.kind, ties })
      return memory.insert(recordKey, value, ties)
    },
  }
  const storages = { orders: { keep_days: 2, forgets: true } }
  const state = { get: async () => undefined, set: () => undefined } as unknown as AgentState
  const sender = { address: '@ann@peer.test', auth_method: 'none', verified: false } as const
  const turn = createTurnRecords(records, {
    turnState: await openTurnState(state, 10_000),
    message: { sender, received_via: 'email' },
    tieShared: createSharedTies(
      { states: {}, storages, data_limits: limits },
      { messageNumber: 7 },
      { now: () => now },
    ),
  })
  const embed = async (text: string) => [text.length, 1]
  const spec = {
    storages: [
      { storageName: 'orders', isShared: true, embed },
      { storageName: 'notes', embed },
    ],
  }
  const own = {
    records: turn,
    bus: createSwarmBus({ log: { warn: () => undefined } }),
    owner: 'agent:desk',
    swarmName: 'desk',
    clientId: 'c',
  }
  const data = openSwarmData(spec, { ...own, activeAgent: () => 'desk', system: { now: () => now } })
  return { data, inserted, memory }
}

const most = { records: limits.shared_records, bytes: limits.shared_bytes }

test('a search result from a shared item has that item’s ties, quota and time', async () => {
  const { data, inserted } = await openStorages()
  await data.storage('orders').upsert({ id: 1, text: 'tea' })
  inserted.length = 0
  await data.storage('orders').take('two teas', 1)
  const source = { kind: 'swarm-shared-item:orders', owner: 'agent:desk', key: '1' }
  const ties = { quota: most, expiresAt: now + 2 * dayMs, message: 7 }
  const kind = 'swarm-shared-embedding:orders'
  expect(inserted).toEqual([
    { kind, ties },
    { kind, ties: { ...ties, source } },
  ])
})

test('a search result from its own conversation disappears with the message, also from earlier releases', async () => {
  const { data, inserted, memory } = await openStorages()
  const old = { kind: 'swarm-embedding', owner: 'agent:desk', key: 'x' }
  await memory.put(old, [1])
  await data.storage('notes').take('tea', 1)
  expect(inserted).toMatchObject([{ kind: 'swarm-own-embedding', ties: { message: 7, expiresAt: now + 30 * dayMs } }])
  expect(await memory.get(old)).toBeUndefined()
})
