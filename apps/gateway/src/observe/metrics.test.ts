import type { OperatorStore, WorkStore } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'
import { createStageMeter } from './telemetry/stage-meter.ts'
import { createTokenMeter } from './token-meter.ts'

const counts = { messages: {}, deliveries: {}, refusals: 0, refused: [], stopped: { loop_guard: 0, hop_limit: 0 } }
const store = { count: async () => counts, findNextDueAt: async () => undefined } as unknown as OperatorStore &
  WorkStore

test('one reader of the metrics does not reset them for the next reader', async () => {
  const metrics = createMetrics(store, { meter: createTokenMeter(), stageMeter: createStageMeter() }, Date.now)
  const readDelay = async () => Number(/^postern_event_loop_delay_seconds (\S+)$/m.exec(await metrics.render())?.[1])
  await new Promise(resolve => setTimeout(resolve, 50))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
  await new Promise(resolve => setTimeout(resolve, 50))
  expect(await readDelay()).toBeGreaterThan(0.1)
  expect(await readDelay()).toBeGreaterThan(0.1)
  metrics.close()
})
