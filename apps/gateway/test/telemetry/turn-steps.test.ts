import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import type { WhyAnswer } from '@postern/operator'
import { formatRecord } from '@postern/operator/views'
import { expect, onTestFinished, test } from 'vitest'
import type { ReceivedSpan } from './collector.ts'
import { readAttribute } from './collector.ts'
import type { TracedGateway } from './traced-gateway.ts'
import { callTracedGateway, closeAndReadSpans, findSpans, openTracedGateway } from './traced-gateway.ts'

const script = [
  respondWithToolCall('ask_hook', {}, 'id-1'),
  respondWithToolCall('fall', {}, 'id-2'),
  replyWith('Both are done.'),
]

/** Opens a gateway with a model behind an agent, whose calls people do not see. */
async function openModelTraced(): Promise<TracedGateway & { readonly host: string }> {
  const model = await openModelServer((_, index) => script[index] ?? { status: 418 })
  onTestFinished(model.close)
  const clerk = { use: 'openai', base_url: model.baseUrl, model: 'test-model', tools: '../agents/calling/errands.ts' }
  const traced = await openTracedGateway({}, {}, { clerk, stager: { use: '../agents/calling/stager.ts' } })
  return { ...traced, host: new URL(model.baseUrl).host }
}

const single = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const [span, ...otherSpans] = findSpans(spans, name)
  if (!span || otherSpans.length > 0)
    throw new Error(`${name}: not one of ${spans.map(candidate => candidate.name).join(', ')}`)
  return span
}
const turnOf = (spans: readonly ReceivedSpan[], agent: string) => {
  const [turn] = findSpans(spans, 'turn').filter(span => readAttribute(span, 'postern.agent') === agent)
  if (!turn) throw new Error(`${agent} had no turn`)
  return turn
}

test('model requests and tool runs are spans below their turn, named by the semantic conventions', async () => {
  const traced = await openModelTraced()
  await callTracedGateway(traced, { to: 'clerk' })
  const spans = await closeAndReadSpans(traced)
  const turn = turnOf(spans, 'clerk')
  expect(readAttribute(turn, 'gen_ai.operation.name')).toBe('invoke_agent')
  const models = findSpans(spans, 'chat test-model')
  const tools = ['ask_hook', 'fall'].map(name => single(spans, `execute_tool ${name}`))
  expect(models).toHaveLength(3)
  for (const span of [...models, ...tools]) {
    expect(span).toMatchObject({ traceId: turn.traceId, parentSpanId: turn.spanId })
    expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(turn.startTimeUnixNano))
    expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(turn.endTimeUnixNano))
    expect(readAttribute(span, 'gen_ai.conversation.id')).toBe(readAttribute(turn, 'gen_ai.conversation.id'))
  }
  const [asking, falling] = models
  if (!asking) throw new Error('no model was asked')
  expect(asking.kind).toBe(3)
  expect(readAttribute(asking, 'gen_ai.operation.name')).toBe('chat')
  expect(readAttribute(asking, 'gen_ai.request.model')).toBe('test-model')
  expect(`${readAttribute(asking, 'server.address')}:${readAttribute(asking, 'server.port')}`).toBe(traced.host)
  expect(JSON.stringify(readAttribute(asking, 'gen_ai.response.finish_reasons'))).toContain('tool_calls')
  // Each tool run names the request in which the model asked for it.
  expect(tools.map(({ links }) => links?.map(link => link.spanId))).toEqual([[asking.spanId], [falling?.spanId]])
  const [hookCall, failedCall] = tools.map(span => ({
    ...{ operation: readAttribute(span, 'gen_ai.operation.name'), tool: readAttribute(span, 'gen_ai.tool.name') },
    ...{ id: readAttribute(span, 'gen_ai.tool.call.id'), fault: readAttribute(span, 'error.type') },
    status: span.status.code ?? 0,
  }))
  expect(hookCall).toEqual({ operation: 'execute_tool', tool: 'ask_hook', id: 'id-1', fault: undefined, status: 0 })
  expect(failedCall).toEqual({ operation: 'execute_tool', tool: 'fall', id: 'id-2', fault: 'failed', status: 2 })
})

test('a call to another agent is a span below its tool, and its `traceparent` continues from there', async () => {
  const traced = await openModelTraced()
  await callTracedGateway(traced, { to: 'clerk' })
  const spans = await closeAndReadSpans(traced)
  const tool = single(spans, 'execute_tool ask_hook')
  const calling = single(spans, 'invoke_agent @hook@agents.test')
  expect(calling).toMatchObject({ kind: 3, traceId: tool.traceId, parentSpanId: tool.spanId })
  expect(readAttribute(calling, 'gen_ai.agent.name')).toBe('@hook@agents.test')
  const hook = turnOf(spans, 'hook')
  const receivedSpan = findSpans(spans, 'receive').find(span => span.traceId === hook.traceId)
  expect(receivedSpan?.links).toMatchObject([{ traceId: tool.traceId, spanId: calling.spanId }])
  // The texts of the model, the tool and the other agent do not reach the collector.
  expect(traced.collector.bodies.join('')).not.toMatch(/xyzzy|quoth|heard|Both are done/)
})

test('the span of a stage contains all its steps', async () => {
  const traced = await openModelTraced()
  await callTracedGateway(traced, { to: 'stager' })
  const spans = await closeAndReadSpans(traced)
  const turn = turnOf(spans, 'stager')
  const [searchSpan, writeSpan] = ['search', 'write'].map(name => single(spans, `stage ${name}`))
  const calling = single(spans, 'invoke_agent @hook@agents.test')
  expect([searchSpan?.parentSpanId, writeSpan?.parentSpanId]).toEqual([turn.spanId, turn.spanId])
  expect(calling.parentSpanId).toBe(searchSpan?.spanId)
  expect(BigInt(writeSpan?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(searchSpan?.endTimeUnixNano ?? 0))
})

test('the record, `show` and `why` have a model’s calls that people do not see', async () => {
  const traced = await openModelTraced()
  const { gateway } = traced
  await callTracedGateway(traced, { to: 'clerk' })
  const [message] = (await gateway.messages()).filter(({ agent }) => agent === 'clerk')
  const record = await gateway.readMessage(`#${message?.message}`)
  expect(record.response?.parts).toEqual([{ kind: 'text', mime: 'text/markdown', content: 'Both are done.' }])
  expect(record.response).not.toHaveProperty('trace')
  const [attempt] = record.turn?.attempts ?? []
  const anyTime = expect.any(Number)
  expect(attempt?.tools).toEqual([
    { name: 'ask_hook', at: anyTime, ms: anyTime, ok: true },
    { name: 'fall', at: anyTime, ms: anyTime, ok: false },
  ])
  expect(attempt?.models).toEqual(
    Array.from({ length: 3 }, () => ({ name: 'test-model', at: anyTime, ms: anyTime, ok: true })),
  )
  const text = formatRecord(record)
  expect(text).toMatch(/ {2}model test-model .* {2}tool ask_hook [^\n]* ok\n.* {2}tool fall [^\n]* failed\n/s)
  const why = await gateway.requestOperator<WhyAnswer>(`/why/${record.number}`)
  const facts = why.explanations[0]?.evidence.map(({ fact }) => fact) ?? []
  expect(facts).toContainEqual(expect.stringMatching(/^the agent called the tool "ask_hook", \d+ ms$/))
  expect(facts).toContain('the agent called the tool "fall", which failed')
  expect(facts.filter(fact => fact.startsWith('the agent asked the model "test-model"'))).toHaveLength(3)
})
