import { expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { ReceivedSpan } from './collector.ts'
import { readAttribute } from './collector.ts'
import { callTracedGateway, closeAndReadSpans, findSpans, openTracedGateway } from './traced-gateway.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const callerTraceparent = `00-${traceId}-b7ad6b7169203331-01`

const readTimesNanos = ({ startTimeUnixNano, endTimeUnixNano }: ReceivedSpan) => [
  BigInt(startTimeUnixNano),
  BigInt(endTimeUnixNano),
]

test('a message has one trace with a span for each stage below its receipt, and the agent’s call inside', async () => {
  const tracedGateway = await openTracedGateway()
  await callTracedGateway(tracedGateway, { to: 'hook' })
  const spans = await closeAndReadSpans(tracedGateway)
  const [receive] = findSpans(spans, 'receive')
  if (!receive) throw new Error('nothing was received')
  expect(spans.map(({ name }) => name).sort()).toEqual(
    expect.arrayContaining(['admit', 'commit', 'queue', 'receive', 'turn', 'verify jwt']),
  )
  expect(new Set(spans.map(span => span.traceId))).toEqual(new Set([receive.traceId]))
  expect(receive.kind).toBe(2)
  expect(receive.parentSpanId || undefined).toBeUndefined()
  for (const span of spans) {
    if (span !== receive) expect(span.parentSpanId).toBe(receive.spanId)
    const [startNanos = 0n, endNanos = 0n] = readTimesNanos(span)
    expect(endNanos).toBeGreaterThanOrEqual(startNanos)
    expect(Math.abs(Number(startNanos / 1_000_000n) - Date.now())).toBeLessThan(120_000)
    expect(readAttribute(span, 'postern.channel')).toBe('a2a')
  }
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  const [turn] = findSpans(spans, 'turn')
  expect(turn && readAttribute(turn, 'postern.outcome')).toBe('answered')
  // The request to the hook names the span of its turn as the parent.
  expect(tracedGateway.hook.headers.map(headers => headers.traceparent)).toEqual([
    `00-${receive.traceId}-${turn?.spanId}-01`,
  ])
})

test('an answer by mail ends with a span for its delivery', async () => {
  const tracedGateway = await openTracedGateway()
  await tracedGateway.gateway.simulation.send({ via: 'email', to: 'echo', text: 'xyzzy' })
  await eventually(async () => (await tracedGateway.gateway.deliveries()).some(({ state }) => state === 'sent'))
  const spans = await closeAndReadSpans(tracedGateway)
  const [deliver] = findSpans(spans, 'deliver')
  expect(deliver).toMatchObject({ kind: 3, parentSpanId: findSpans(spans, 'receive')[0]?.spanId })
  expect(deliver && readAttribute(deliver, 'postern.outcome')).toBe('sent')
  expect(spans.filter(({ name }) => name.startsWith('verify ')).length).toBeGreaterThan(1)
})

test('no span contains text, an address of a person or a secret, and only the collector gets its own header', async () => {
  const tracedGateway = await openTracedGateway({ service_name: 'front desk' })
  await tracedGateway.gateway.simulation.send({ via: 'email', to: 'echo', text: 'xyzzy' })
  await callTracedGateway(tracedGateway, { to: 'hook' })
  await eventually(async () => (await tracedGateway.gateway.deliveries()).some(({ state }) => state === 'sent'))
  await closeAndReadSpans(tracedGateway)
  const exportedText = tracedGateway.collector.bodies.join('')
  expect(exportedText).toContain('"receive"')
  expect(exportedText).not.toMatch(/xyzzy|heard|bob|alice|@|a secret of the hook|of-the-collector|Bearer/)
  expect(new Set(tracedGateway.collector.services())).toEqual(new Set(['front desk']))
  expect(tracedGateway.collector.headers.map(({ authorization }) => authorization)).toContain('Basic of-the-collector')
  expect(tracedGateway.hook.headers[0]?.authorization).toBeUndefined()
})

test('a trace only links a proven caller’s trace, and not a stranger’s', async () => {
  const tracedGateway = await openTracedGateway({}, { a2a: { auth: { anonymous: true } } })
  await callTracedGateway(tracedGateway, { to: 'echo', traceparent: callerTraceparent })
  await callTracedGateway(tracedGateway, { to: 'echo', traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
  expect(await callTracedGateway(tracedGateway, { to: 'echo', traceparent: callerTraceparent, isProven: false })).toBe(
    200,
  )
  const spans = await closeAndReadSpans(tracedGateway)
  expect(spans.filter(span => span.traceId === traceId)).toEqual([])
  const receivedSpans = findSpans(spans, 'receive')
  const links = receivedSpans.map(span => span.links?.map(link => [link.traceId, link.spanId]) ?? [])
  expect(links).toHaveLength(3)
  expect(links[0]).toEqual([[traceId, 'b7ad6b7169203331']])
  expect(links.slice(1).flat()).toEqual([])
})

test('with a sampling ratio of 0 the gateway traces nothing for any caller, and marks calls to its peers as not sampled', async () => {
  const tracedGateway = await openTracedGateway({ sampling: 0 })
  await callTracedGateway(tracedGateway, { to: 'hook', traceparent: callerTraceparent })
  expect(await closeAndReadSpans(tracedGateway)).toEqual([])
  expect(tracedGateway.hook.headers.map(({ traceparent }) => traceparent)).toEqual([
    expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
  ])
  expect(tracedGateway.hook.headers[0]?.traceparent).not.toContain(traceId)
})

test('a call to another agent carries the trace, and the resulting message links back to it', async () => {
  const tracedGateway = await openTracedGateway()
  await callTracedGateway(tracedGateway, { to: 'relay', text: '@hook@agents.test' })
  const spans = await closeAndReadSpans(tracedGateway)
  const turns = findSpans(spans, 'turn')
  const relaySpan = turns.find(span => readAttribute(span, 'postern.agent') === 'relay')
  const hookSpan = turns.find(span => readAttribute(span, 'postern.agent') === 'hook')
  const receivedSpan = findSpans(spans, 'receive').find(span => span.traceId === hookSpan?.traceId)
  expect(hookSpan?.traceId).not.toBe(relaySpan?.traceId)
  const [callSpan] = findSpans(spans, 'invoke_agent @hook@agents.test')
  expect(callSpan).toMatchObject({ traceId: relaySpan?.traceId, parentSpanId: relaySpan?.spanId })
  expect(receivedSpan?.links).toMatchObject([{ traceId: relaySpan?.traceId, spanId: callSpan?.spanId }])
})
