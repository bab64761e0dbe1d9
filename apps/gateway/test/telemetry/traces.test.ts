import { expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { ReceivedSpan } from './collector.ts'
import { attributeOf } from './collector.ts'
import { callTraced, endAndRead, openTracedGateway, spansNamed } from './traced-gateway.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const callers = `00-${traceId}-b7ad6b7169203331-01`

const nanosOf = ({ startTimeUnixNano, endTimeUnixNano }: ReceivedSpan) => [
  BigInt(startTimeUnixNano),
  BigInt(endTimeUnixNano),
]

test('a message has one trace with a span for each stage below its receipt, and the agent’s call inside', async () => {
  const traced = await openTracedGateway()
  await callTraced(traced, { to: 'hook' })
  const spans = await endAndRead(traced)
  const [receive] = spansNamed(spans, 'receive')
  if (!receive) throw new Error('nothing was received')
  expect(spans.map(({ name }) => name).sort()).toEqual(
    expect.arrayContaining(['admit', 'commit', 'queue', 'receive', 'turn', 'verify jwt']),
  )
  expect(new Set(spans.map(span => span.traceId))).toEqual(new Set([receive.traceId]))
  expect(receive.kind).toBe(2)
  expect(receive.parentSpanId || undefined).toBeUndefined()
  for (const span of spans) {
    if (span !== receive) expect(span.parentSpanId).toBe(receive.spanId)
    const [startNanos = 0n, endNanos = 0n] = nanosOf(span)
    expect(endNanos).toBeGreaterThanOrEqual(startNanos)
    expect(Math.abs(Number(startNanos / 1_000_000n) - Date.now())).toBeLessThan(120_000)
    expect(attributeOf(span, 'postern.channel')).toBe('a2a')
  }
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  const [turn] = spansNamed(spans, 'turn')
  expect(turn && attributeOf(turn, 'postern.outcome')).toBe('answered')
  // The request to the hook names the span of its turn as the parent.
  expect(traced.hook.headers.map(headers => headers.traceparent)).toEqual([`00-${receive.traceId}-${turn?.spanId}-01`])
})

test('an answer by mail ends with a span for its delivery', async () => {
  const traced = await openTracedGateway()
  await traced.gateway.simulation.send({ via: 'email', to: 'echo', text: 'xyzzy' })
  await eventually(async () => (await traced.gateway.deliveries()).some(({ state }) => state === 'sent'))
  const spans = await endAndRead(traced)
  const [deliver] = spansNamed(spans, 'deliver')
  expect(deliver).toMatchObject({ kind: 3, parentSpanId: spansNamed(spans, 'receive')[0]?.spanId })
  expect(deliver && attributeOf(deliver, 'postern.outcome')).toBe('sent')
  expect(spans.filter(({ name }) => name.startsWith('verify ')).length).toBeGreaterThan(1)
})

test('no span contains text, an address of a person or a secret, and only the collector gets its own header', async () => {
  const traced = await openTracedGateway({ service_name: 'front desk' })
  await traced.gateway.simulation.send({ via: 'email', to: 'echo', text: 'xyzzy' })
  await callTraced(traced, { to: 'hook' })
  await eventually(async () => (await traced.gateway.deliveries()).some(({ state }) => state === 'sent'))
  await endAndRead(traced)
  const exportedText = traced.collector.bodies.join('')
  expect(exportedText).toContain('"receive"')
  expect(exportedText).not.toMatch(/xyzzy|heard|bob|alice|@|a secret of the hook|of-the-collector|Bearer/)
  expect(new Set(traced.collector.services())).toEqual(new Set(['front desk']))
  expect(traced.collector.headers.map(({ authorization }) => authorization)).toContain('Basic of-the-collector')
  expect(traced.hook.headers[0]?.authorization).toBeUndefined()
})

test('a trace only links a proven caller’s trace, and not a stranger’s', async () => {
  const traced = await openTracedGateway({}, { a2a: { auth: { anonymous: true } } })
  await callTraced(traced, { to: 'echo', traceparent: callers })
  await callTraced(traced, { to: 'echo', traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
  expect(await callTraced(traced, { to: 'echo', traceparent: callers, isProven: false })).toBe(200)
  const spans = await endAndRead(traced)
  expect(spans.filter(span => span.traceId === traceId)).toEqual([])
  const receivedSpans = spansNamed(spans, 'receive')
  const links = receivedSpans.map(span => span.links?.map(link => [link.traceId, link.spanId]) ?? [])
  expect(links).toHaveLength(3)
  expect(links[0]).toEqual([[traceId, 'b7ad6b7169203331']])
  expect(links.slice(1).flat()).toEqual([])
})

test('with a ratio of 0 the gateway traces nothing, whatever a caller asks, and tells its peers so', async () => {
  const traced = await openTracedGateway({ sampling: 0 })
  await callTraced(traced, { to: 'hook', traceparent: callers })
  expect(await endAndRead(traced)).toEqual([])
  expect(traced.hook.headers.map(({ traceparent }) => traceparent)).toEqual([
    expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
  ])
  expect(traced.hook.headers[0]?.traceparent).not.toContain(traceId)
})

test('a call to another agent carries the trace, and the resulting message links back to it', async () => {
  const traced = await openTracedGateway()
  await callTraced(traced, { to: 'relay', text: '@hook@agents.test' })
  const spans = await endAndRead(traced)
  const turns = spansNamed(spans, 'turn')
  const relay = turns.find(span => attributeOf(span, 'postern.agent') === 'relay')
  const hook = turns.find(span => attributeOf(span, 'postern.agent') === 'hook')
  const receivedSpan = spansNamed(spans, 'receive').find(span => span.traceId === hook?.traceId)
  expect(hook?.traceId).not.toBe(relay?.traceId)
  const [calling] = spansNamed(spans, 'invoke_agent @hook@agents.test')
  expect(calling).toMatchObject({ traceId: relay?.traceId, parentSpanId: relay?.spanId })
  expect(receivedSpan?.links).toMatchObject([{ traceId: relay?.traceId, spanId: calling?.spanId }])
})
