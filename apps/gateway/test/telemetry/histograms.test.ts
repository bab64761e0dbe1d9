import { expect, onTestFinished, test } from 'vitest'
import { eventually, openTestGateway } from '../setup/gateway.ts'

/** Returns the samples of `/metrics`, by their names with labels. */
async function readMetrics(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const samples = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(samples.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

test('/metrics has the duration of each stage by channel, in consistent buckets', async () => {
  const gateway = await openTestGateway(() => ({ agents: { echo: { use: 'builtin:echo' } } }))
  onTestFinished(() => gateway.close())
  for (const text of ['one', 'two']) await gateway.simulation.send({ via: 'a2a', to: 'echo', text })
  await gateway.simulation.send({ via: 'email', to: 'echo', text: 'three' })
  const metrics = await eventually(async () => {
    const metrics = await readMetrics(gateway.url())
    return metrics.get('postern_stage_seconds_count{stage="deliver",channel="email"}') === 1 && metrics
  })
  const countOf = (stage: string, channel: string) =>
    metrics.get(`postern_stage_seconds_count{stage="${stage}",channel="${channel}"}`)
  for (const stage of ['receive', 'admit', 'queue', 'turn', 'commit']) {
    expect([stage, countOf(stage, 'a2a'), countOf(stage, 'email')]).toEqual([stage, 2, 1])
  }
  expect(countOf('verify', 'email')).toBeGreaterThan(1)
  expect(countOf('deliver', 'a2a')).toBeUndefined()
  const buckets = [...metrics].filter(([name]) =>
    name.startsWith('postern_stage_seconds_bucket{stage="turn",channel="a2a"'),
  )
  const counts = buckets.map(([, count]) => count)
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(buckets.at(-1)).toEqual(['postern_stage_seconds_bucket{stage="turn",channel="a2a",le="+Inf"}', 2])
  expect(metrics.get('postern_stage_seconds_sum{stage="turn",channel="a2a"}')).toBeGreaterThanOrEqual(0)
})
