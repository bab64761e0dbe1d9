import type { OperatorStore, WorkStore } from '@postern/pipeline'
import { expect, onTestFinished, test } from 'vitest'
import { createMetrics } from './metrics.ts'
import { createStageMeter } from './telemetry/stage-meter.ts'
import { createTokenMeter } from './token-meter.ts'

const counts = { messages: {}, deliveries: {}, refusals: 0, refused: [], stopped: {} }
const store = { count: async () => counts, findNextDueAt: async () => undefined } as unknown as OperatorStore &
  WorkStore

/** Returns the lines of the metrics about tokens. */
async function renderTokenLines(meter: ReturnType<typeof createTokenMeter>): Promise<readonly string[]> {
  const metrics = createMetrics(store, { meter, stageMeter: createStageMeter() }, Date.now)
  onTestFinished(metrics.close)
  return (await metrics.render()).split('\n').filter(line => line.startsWith('postern_tokens'))
}

test('the meter counts tokens by agent, model and kind, and partial kinds separately', async () => {
  const meter = createTokenMeter()
  meter.count('desk', [{ model: 'large', input_tokens: 10, output_tokens: 4, total_tokens: 14, reasoning_tokens: 3 }])
  meter.count('desk', [{ model: 'large', input_tokens: 1, cached_input_tokens: 1 }])
  meter.count('shop', [{ provider: 'local', model: 'large', output_tokens: 2 }, { output_tokens: 7 }])
  expect(await renderTokenLines(meter)).toEqual([
    'postern_tokens_total{agent="desk",model="large",kind="input"} 11',
    'postern_tokens_total{agent="desk",model="large",kind="output"} 4',
    'postern_tokens_total{agent="shop",provider="local",model="large",kind="output"} 2',
    'postern_tokens_total{agent="shop",model="unnamed",kind="output"} 7',
    'postern_tokens_part_total{agent="desk",model="large",kind="reasoning"} 3',
    'postern_tokens_part_total{agent="desk",model="large",kind="cached_input"} 1',
  ])
})

test('a name cannot break the metrics format, and names beyond the limit count as one', async () => {
  const meter = createTokenMeter()
  meter.count('desk', [{ model: 'a"} 1\n\\', output_tokens: 1 }])
  expect(await renderTokenLines(meter)).toEqual([
    'postern_tokens_total{agent="desk",model="a\\"} 1\\n\\\\",kind="output"} 1',
  ])
  for (let index = 0; index < 1_000; index += 1) meter.count('desk', [{ model: `m${index}`, output_tokens: 1 }])
  expect(meter.list()).toHaveLength(201)
  expect(meter.list().at(-1)).toEqual({ labels: { agent: 'desk', model: 'other', kind: 'output' }, tokens: 801 })
})
