import { describe, expect, test } from 'vitest'
import { openAgui } from '../../../test/agui-agent.ts'
import { eventsOf, finished, runOf, textEvent } from '../../../test/agui-server.ts'
import { textOfAnswer } from '../../../test/model-agent.ts'
import { interruptSchema, joinInterrupts, readInterruptEvent } from './server-interrupts.ts'

const id = 'c0f98b1dbcadd4774aa1996178d4544d'
/** Writes the `on_interrupt` event of `ag-ui-langgraph` 0.0.47. */
const onInterrupt = (value: unknown, interrupt = id) => ({
  type: 'CUSTOM',
  name: 'on_interrupt',
  value: typeof value === 'string' ? value : JSON.stringify(value),
  rawEvent: { value, id: interrupt, response_schema: null },
})

/** Returns the text that the person reads, and the second run. */
async function askAndAnswer(events: readonly object[], end: object = finished()) {
  const { ask, server } = await openAgui([eventsOf(...events, end), runOf(textEvent('Done.'))])
  const { answer } = await ask('hello')
  expect(answer?.status).toBe('input_required')
  expect(textOfAnswer((await ask('L')).answer)).toBe('Done.')
  return { question: textOfAnswer(answer), run: server.inputs()[1] }
}

describe('an interrupt of LangGraph', () => {
  test('asks by its value, and takes the answer as a command', async () => {
    const { question, run } = await askAndAnswer([onInterrupt({ question: 'Which size?', sizes: ['S', 'L'] })])
    expect(question).toBe('Which size?')
    expect(run).toMatchObject({ messages: [], forwardedProps: { command: { resume: 'L' } } })
    expect(run).not.toHaveProperty('resume')
  })

  test('asks by the named call', async () => {
    const call = [
      { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'refund' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"euros":20}' },
    ]
    const { question } = await askAndAnswer([...call, onInterrupt({ tool_call_id: 'c1' })])
    expect(question).toBe('May the agent call `refund`?\n\n- euros: 20')
    const interrupts = [{ id: 'i1', reason: 'tool_call', toolCallId: 'c1', message: null }]
    const end = finished({ outcome: { type: 'interrupt', interrupts } })
    expect((await askAndAnswer(call, end)).question).toBe('May the agent call `refund`?\n\n- euros: 20')
  })

  test('has the schema that LangGraph checks, even if the outcome lacks it', async () => {
    const event = onInterrupt('How many?')
    const rawEvent = { ...event.rawEvent, response_schema: { type: 'integer' } }
    const { ask, server } = await openAgui([
      eventsOf({ ...event, rawEvent }, finished()),
      eventsOf({ ...event, rawEvent }, finished({ outcome: { type: 'interrupt', interrupts: [{ id }] } })),
      runOf(textEvent('Done.')),
    ])
    await ask('hello')
    await ask('3')
    await ask('4')
    expect(server.inputs()[1]).toMatchObject({ forwardedProps: { command: { resume: 3 } } })
    expect(server.inputs()[2]).toMatchObject({ resume: [{ payload: 4 }] })
  })

  test('asks once, by the outcome, if both announce it', async () => {
    const metadata = { langgraph: { raw: { prompt: 'Which size?' }, ns: null } }
    const interrupts = [{ id, reason: 'langgraph:interrupt', metadata }]
    const { question, run } = await askAndAnswer(
      [onInterrupt({ prompt: 'Which size?' })],
      finished({ outcome: { type: 'interrupt', interrupts } }),
    )
    expect(question).toBe('Which size?')
    expect(run?.resume).toEqual([{ interruptId: id, status: 'resolved', payload: 'L' }])
    expect(run?.forwardedProps).toEqual({})
  })
})

test('other events, and more than fifty, are not interrupts', () => {
  expect(readInterruptEvent({ name: 'person_state', value: 1 }, 0)).toBeUndefined()
  expect(readInterruptEvent({ name: 'on_interrupt', value: 1 }, 50)).toBeUndefined()
  const many = Array.from({ length: 51 }, (_, index) => interruptSchema.parse({ id: `i${index}` }))
  expect(joinInterrupts(many, [], new Map())).toHaveLength(50)
})

test('interrupts keep schema and expiry as far as they are valid', () => {
  const schema = { type: 'object' }
  const read = (value: object) => joinInterrupts([], [{ id, value }], new Map())[0]
  expect(read({ responseSchema: schema, expiresAt: '2026-01-01T00:00:00Z' })).toMatchObject({
    schema,
    expiresAt: '2026-01-01T00:00:00Z',
  })
  expect(read({ response_schema: 'none', expires_at: 'soon' })).toEqual({
    id,
    question: expect.any(String),
    via: 'command',
  })
  expect(read({ responseSchema: { description: 'x'.repeat(20_000) } })).not.toHaveProperty('schema')
})
