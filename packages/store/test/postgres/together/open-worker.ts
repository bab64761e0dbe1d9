// Opens a gateway's worker on PostgreSQL, with a channel that a test drives.
import { noLog } from '@postern/message'
import type { Agent, Channel } from '@postern/pipeline'
import { createSlidingWindowPolicy, startWorker } from '@postern/pipeline'
import { sketchedChannels } from '@postern/testing'
import { onTestFinished } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import { openPostgresStore } from '../../../src/postgres/index.ts'

interface WorkerSketch {
  readonly holder: string
  /** Delivers a text to a peer. */
  deliver?(to: string, text: string): Promise<void>
  readonly handle?: Agent['handle']
  /** The time by which the clock of its machine is ahead, ms. */
  readonly aheadMs?: number
  /** True if no notice reaches the worker. */
  readonly isDeaf?: boolean
}

/** Opens the working part of a gateway: a store of its own on the database at `url`, and a worker that runs until the test ends. */
export async function openWorker(
  url: string,
  { holder, deliver = async () => {}, handle = () => 'hi', aheadMs = 0, isDeaf = false }: WorkerSketch,
): Promise<GatewayStore> {
  const store = await openPostgresStore({ channels: sketchedChannels, url, log: noLog, holder })
  const now = () => Date.now() + aheadMs
  const system = {
    ...{ now, log: noLog, randomBytes: (size: number) => new Uint8Array(size) },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms)
        signal?.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      }),
  }
  const channel = {
    descriptor: { name: 'a2a', authMethods: [], mentionRelay: { kind: 'none' }, repeatsForMs: 0, speaker: {} },
    address: () => ({ deliveries: [], aliases: [] }),
    prepare: ({ to, response }) => ({
      wire: null,
      transmit: async () => {
        await deliver(to, JSON.stringify(response?.parts ?? []))
        return {}
      },
    }),
  } as Partial<Channel> as Channel
  const retry = { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 }
  const turnContext = {
    ...{
      store: isDeaf ? { ...store, listen: () => () => {} } : store,
      system,
      retry,
      maxCrashes: 3,
      channels: [channel],
    },
    findAgent: () => ({ agent: { handle }, history: createSlidingWindowPolicy(), deadlineMs: 60_000 }),
    presentParts: () => [],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  }
  const options = { holder, turnSlots: 4, turnsPerAgent: 4, deliverySlots: 4, deliveriesPerHost: 4, leaseMs: 60_000 }
  const worker = startWorker(turnContext as never, { system, retry, channels: [channel] }, system, options)
  onTestFinished(async () => {
    await worker.stop(0)
    await store.close()
  })
  return store
}
