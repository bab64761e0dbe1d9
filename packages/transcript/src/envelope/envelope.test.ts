import { Rejection } from '@postern/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../test/arbitraries.ts'
import {
  buildFailedResult,
  buildTextEnvelope,
  buildToolCallEnvelope,
  buildToolResultEnvelope,
  coalesceEnvelopes,
  createMemoryRecords,
  createMemoryTranscript,
  createSessionStore,
  envelopeCodec,
  findOrphanEnvelopes,
  normalizeConversationResult,
  normalizeEnvelope,
  pruneOrphanEnvelopes,
  reportConversation,
  runConversation,
  toProviderMessage,
} from '../index.ts'

const toolCallRow = {
  role: 'assistant',
  content: 'AI ACTION (Turn 1): Executing Wiki Upsert',
  metadata: { type: 'tool_call', tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 },
}
const form = { schema: 'agents-api.message', version: 1 }

function refusal(reason: string): Rejection {
  return new Rejection('malformed', `invalid_ai_message_envelope: ${reason}`)
}

function expectRefused(value: unknown, reason: string): void {
  expect(() => normalizeEnvelope(value)).toThrow(refusal(reason))
}

describe('normalizeEnvelope()', () => {
  it('reads a plain row as a text without id and times (E-01)', () => {
    expect(normalizeEnvelope({ role: 'user', content: 'hi' })).toEqual({
      ...form,
      type: 'text',
      role: 'user',
      content: 'hi',
      payload: {},
      metadata: {},
    })
  })

  it('copies a published tool call’s payload from metadata, which stays unchanged (E-02)', () => {
    expect(normalizeEnvelope(toolCallRow)).toEqual({
      ...form,
      ...toolCallRow,
      type: 'tool_call',
      payload: { tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 },
    })
  })

  it('takes exactly a tool result’s six keys into the payload, also null (E-03)', () => {
    const listed = { tool_name: 't', success: false, turn: 2, tool_data: { a: 1 }, media: [1], error: null }
    const { payload, metadata } = normalizeEnvelope({ metadata: { type: 'tool_result', ...listed, extra: 1 } })
    expect(payload).toEqual(listed)
    expect(metadata).toEqual({ type: 'tool_result', ...listed, extra: 1 })
  })

  it('keeps a call id only in metadata (E-04)', () => {
    const { payload } = normalizeEnvelope({ ...toolCallRow, metadata: { ...toolCallRow.metadata, tool_call_id: 'c1' } })
    expect(Object.keys(payload)).toEqual(['tool_name', 'parameters', 'turn'])
  })

  it('gives a row without a role the role of its type (E-05, E-06)', () => {
    const roleOf = (type: string) => normalizeEnvelope({ content: '', metadata: { type } }).role
    expect(['tool_result', 'approval_required', 'input_required'].map(roleOf)).toEqual(['tool', 'tool', 'tool'])
    expect(['text', 'tool_call', 'final_result', 'delta', 'error'].map(roleOf)).toEqual(Array(5).fill('assistant'))
    expect(normalizeEnvelope({ role: null }).role).toBe('assistant')
  })

  it('refuses a role that is empty or not text (E-07)', () => {
    expectRefused({ role: '' }, 'role must be a non-empty string')
    expectRefused({ role: 7 }, 'role must be a non-empty string')
  })

  it('keeps an unknown role (E-08)', () => {
    expect(normalizeEnvelope({ role: 'wizard' }).role).toBe('wizard')
  })

  it('reads absent content and null as empty, and refuses a number or a boolean (E-09)', () => {
    expect(normalizeEnvelope({ role: 'user' }).content).toBe('')
    expect(normalizeEnvelope({ role: 'user', content: null }).content).toBe('')
    expectRefused({ role: 'user', content: 5 }, 'content must be a string or array')
    expectRefused({ role: 'user', content: false }, 'content must be a string or array')
  })

  it('reads a list as multimodal unless its type says text (E-10, E-11)', () => {
    expect(normalizeEnvelope({ content: ['a'] }).type).toBe('multimodal_part')
    expect(normalizeEnvelope({ content: { a: 1 } }).type).toBe('multimodal_part')
    expect(normalizeEnvelope({ content: 'x', metadata: { type: 'multimodal' } }).type).toBe('multimodal_part')
    expect(normalizeEnvelope({ content: ['a'], metadata: { type: 'text' } }).type).toBe('text')
  })

  it('reads an error in metadata as an error, but not null or false (E-12)', () => {
    const typeOf = (error: unknown) => normalizeEnvelope({ metadata: { error } }).type
    expect(['boom', null, false].map(typeOf)).toEqual(['error', 'text', 'error'])
  })

  it('reads an envelope without version as a plain row in strict mode, else as version 1 with a finding (E-13)', () => {
    const row = { schema: form.schema, type: 'tool_call', payload: { tool_name: 't' } }
    expect(normalizeEnvelope(row, { isStrict: true })).toMatchObject({ type: 'text', payload: {} })
    const codes: string[] = []
    const envelope = normalizeEnvelope(row, { report: code => codes.push(code) })
    expect(envelope).toMatchObject({ version: 1, type: 'tool_call', payload: { tool_name: 't' } })
    expect(codes).toEqual(['version_missing'])
  })

  it('makes no envelope of version and type alone (E-14)', () => {
    expect(normalizeEnvelope({ version: 1, type: 'tool_call' }).type).toBe('text')
    expect(normalizeEnvelope({ version: 1, type: 'tool_call', payload: null }).type).toBe('tool_call')
  })

  it('compares the version as an integer (E-15)', () => {
    const ofVersion = (version: unknown) => normalizeEnvelope({ version, type: 'text', payload: {} }).version
    expect([1, '1', 1.9].map(ofVersion)).toEqual([1, 1, 1])
    for (const version of [2, '2', '', 'one', 0]) {
      expectRefused({ version, type: 'text', payload: {} }, 'unsupported version')
    }
  })

  it('rewrites another schema, with a finding (E-16)', () => {
    const codes: string[] = []
    const row = { schema: 'other', version: 1, type: 'text' }
    expect(normalizeEnvelope(row, { report: code => codes.push(code) }).schema).toBe('agents-api.message')
    expect(codes).toEqual(['schema_unknown'])
  })

  it('refuses an unknown type in an envelope, and accepts it in a row (E-17, E-18)', () => {
    expectRefused({ ...form, type: 'banana' }, 'unsupported type')
    expect(normalizeEnvelope({ metadata: { type: 'banana' } })).toMatchObject({
      type: 'text',
      metadata: { type: 'banana' },
    })
  })

  it('reads `data` without a payload, and never writes it (E-19, E-20)', () => {
    const read = (row: object) => normalizeEnvelope({ ...form, type: 'delta', ...row })
    expect(read({ data: { index: 0 } }).payload).toEqual({ index: 0 })
    expect(read({ data: { index: 0 } })).not.toHaveProperty('data')
    expect(read({ data: { index: 0 }, payload: { a: 1 } }).payload).toEqual({ a: 1 })
    expect(read({ data: { index: 0 }, payload: [] }).payload).toEqual({ index: 0 })
  })

  it('reads an empty map that PHP wrote as a list as a map (E-21)', () => {
    const envelope = normalizeEnvelope({ ...form, type: 'text', payload: [], metadata: [] })
    expect(JSON.parse(JSON.stringify(envelope))).toMatchObject({ payload: {}, metadata: {} })
    expect(normalizeEnvelope([])).toMatchObject({ type: 'text', content: '' })
  })

  it('drops unknown members of an envelope, which the transcript keeps (E-22)', () => {
    const row = { role: 'user', content: 'x', id: 7, created_at: 123, foo: 1 }
    expect(Object.keys(normalizeEnvelope(row))).toEqual([
      'schema',
      'version',
      'type',
      'role',
      'content',
      'payload',
      'metadata',
    ])
    const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => 'e1' }
    expect(envelopeCodec.read([row], context)[0]?.ext?.envelope?.dropped).toEqual({ id: 7, created_at: 123, foo: 1 })
  })

  it('refuses values outside JSON (E-23)', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    for (const bad of ['\ud800', 1n, Number.NaN, new Date(), cyclic, () => 1]) {
      expectRefused({ metadata: { bad } }, 'envelope must be JSON serializable')
    }
    expectRefused('hi', 'message must be an array')
    expectRefused(null, 'message must be an array')
  })

  it('changes nothing the second time, and its result is always canonical (E-27, E-31)', () => {
    fc.assert(
      fc.property(messagesOf.envelope, row => {
        const once = normalizeEnvelope(row)
        expect(normalizeEnvelope(once)).toEqual(once)
        expect(once).toMatchObject(form)
        expect(once).not.toHaveProperty('data')
      }),
    )
  })
})

describe('toProviderMessage()', () => {
  it('returns a bare text as it is (E-24)', () => {
    expect(toProviderMessage({ role: 'user', content: 'hi' })).toEqual({ role: 'user', content: 'hi' })
  })

  it('puts the type of a text with metadata there (E-25)', () => {
    expect(toProviderMessage({ role: 'user', content: 'hi', metadata: { a: 1 } }).metadata).toEqual({
      a: 1,
      type: 'text',
    })
  })

  it('prefers members of the envelope’s type and of the metadata (E-26)', () => {
    const metadata = { type: 'text', tool_name: 'mine' }
    const payload = { tool_name: 'yours', parameters: { a: 1 } }
    expect(toProviderMessage({ ...form, type: 'tool_call', content: '', payload, metadata }).metadata).toEqual({
      type: 'tool_call',
      tool_name: 'mine',
      parameters: { a: 1 },
    })
  })

  it('omits ids and times', () => {
    const row = { role: 'user', content: 'hi', id: 'm', created_at: '2026-04-28 12:00:00' }
    expect(toProviderMessage(row)).toEqual({ role: 'user', content: 'hi' })
  })
})

describe('builders, neighbours and pairs', () => {
  const call = (id: string | undefined, tool_name = 't') => {
    return buildToolCallEnvelope({
      content: '',
      tool_name,
      parameters: {},
      turn: 1,
      metadata: id ? { tool_call_id: id } : {},
    })
  }
  const result = (id: string | undefined, tool_name = 't') => {
    return buildToolResultEnvelope({ content: '', tool_name, metadata: id ? { tool_call_id: id } : {} })
  }

  it('a built tool call belongs to the assistant and a built result to the user', () => {
    expect(call('c')).toMatchObject({
      type: 'tool_call',
      role: 'assistant',
      payload: { tool_name: 't', parameters: {}, turn: 1 },
    })
    expect(result('c')).toMatchObject({ type: 'tool_result', role: 'user', payload: { tool_name: 't' } })
  })

  it('neighbours of one role become one message of parts, also when merged twice (E-32)', () => {
    const said = buildTextEnvelope('assistant', 'Look.', { a: 1 })
    const done = { ...call('c'), content: 'Looking' }
    const [merged, ...rest] = coalesceEnvelopes([said, done])
    expect(rest).toEqual([])
    expect(merged).toMatchObject({
      type: 'multimodal_part',
      role: 'assistant',
      content: 'Look.\n\nLooking',
      payload: { parts: [said, done] },
      metadata: { a: 1 },
    })
    fc.assert(
      fc.property(fc.array(messagesOf.envelope, { maxLength: 6 }), rows => {
        const once = coalesceEnvelopes(rows)
        expect(coalesceEnvelopes(once)).toEqual(once)
      }),
    )
  })

  it('the view drops orphans by ascending index and names them, and keeps pairs (E-33)', () => {
    const list = [
      result('x'),
      call('a'),
      call(undefined, 'u'),
      call('b'),
      result(undefined, 'u'),
      result('b'),
      call('z'),
    ]
    expect(findOrphanEnvelopes(list).map(({ code, index }) => [code, index])).toEqual([
      ['orphan_tool_result', 0],
      ['orphan_tool_call', 1],
      ['orphan_tool_call', 6],
    ])
    expect(pruneOrphanEnvelopes(list)).toEqual([list[2], list[3], list[4], list[5]])
    fc.assert(
      fc.property(fc.array(messagesOf.envelope, { maxLength: 8 }), rows => {
        const once = pruneOrphanEnvelopes(rows)
        expect(pruneOrphanEnvelopes(once)).toEqual(once)
        expect(findOrphanEnvelopes(once)).toEqual([])
      }),
    )
  })
})

describe('conversation results', () => {
  const request = { tools: [], provider: 'p', model: 'm', mode: 'chat', payload: {}, max_turns: 3, single_turn: false }
  const builtIn = async () => ({ messages: [buildTextEnvelope('assistant', 'built in')], tool_execution_results: [] })

  it('make an envelope of every message, for any mix of an adapter (E-28)', () => {
    const result = normalizeConversationResult({
      messages: [toolCallRow, { ...form, type: 'text' }],
      usage: { total: 1 },
    })
    expect(result.messages.map(({ type }) => type)).toEqual(['tool_call', 'text'])
    expect(result).toMatchObject({ usage: { total: 1 }, tool_execution_results: [] })
  })

  it('name the path of an invalid member', () => {
    const refuse = (value: unknown) => () => normalizeConversationResult(value)
    const prefix = 'invalid_agent_conversation_result:'
    expect(refuse({})).toThrow(new Rejection('malformed', `${prefix} messages must be an array`))
    expect(refuse({ messages: [{}, { role: '' }] })).toThrow(
      `${prefix} messages[1]: invalid_ai_message_envelope: role must be`,
    )
    const execution = { tool_name: 't', result: {}, parameters: {}, turn_count: 1 }
    const withExecution = (change: object) =>
      refuse({ messages: [], tool_execution_results: [{ ...execution, ...change }] })
    expect(withExecution({ parameters: [] })()).toMatchObject({ tool_execution_results: [execution] })
    expect(withExecution({ tool_name: '' })).toThrow(
      `${prefix} tool_execution_results[0].tool_name must be a non-empty string`,
    )
    expect(withExecution({ turn_count: 1.5 })).toThrow(
      `${prefix} tool_execution_results[0].turn_count must be an integer`,
    )
    expect(withExecution({ result: 'x' })).toThrow(`${prefix} tool_execution_results[0].result must be an object`)
    expect(withExecution({ is_handler_tool: 1 })).toThrow(
      `${prefix} tool_execution_results[0].is_handler_tool must be a boolean`,
    )
  })

  it('are a failure with the messages unchanged if a foreign result has none (E-29)', async () => {
    const messages = [{ role: 'user', content: 'hi' }]
    const result = await runConversation(
      { ...request, messages },
      { foreign: async () => ({ final_content: 'x' }), builtIn },
    )
    expect(result).toEqual({
      messages: [normalizeEnvelope(messages[0])],
      final_content: '',
      turn_count: 0,
      completed: false,
      last_tool_calls: [],
      tool_execution_results: [],
      error: 'invalid_agent_conversation_result: messages must be an array',
    })
  })

  it('leave no answer in the store after a failure (E-29)', async () => {
    let time = 0
    const system = { now: () => ++time, randomBytes: (size: number) => new Uint8Array(size).fill(++time) }
    const sessions = createSessionStore({
      transcript: createMemoryTranscript(system),
      records: createMemoryRecords(),
      system,
    })
    const ann = { owner: 'ann', owner_type: 'user', owner_key: 'ann' } as const
    const { session_id: id } = await sessions.create(ann)
    const messages = [{ role: 'user', content: 'hi' }]
    await sessions.update(ann, id, { messages })
    for (const bad of [{ final_content: 'x' }, { messages: 'x' }, 'x', { messages: [{ role: '' }] }]) {
      const runners = { foreign: async () => bad, builtIn }
      const result = await runConversation({ ...request, messages }, runners)
      expect(result.error).toMatch(/^invalid_agent_conversation_result: /)
      await sessions.update(ann, id, { messages: result.messages })
    }
    expect((await sessions.get(ann, id))?.messages).toEqual([normalizeEnvelope(messages[0])])
  })

  it('give observers names, counts and digests, without values (E-44)', () => {
    const result = normalizeConversationResult({
      messages: [{ role: 'assistant', content: 'done' }],
      tool_execution_results: [
        { tool_name: 'pay', parameters: { card: 'secret-1' }, result: { paid: 'secret-2' }, turn_count: 1 },
        { tool_name: 'pay', parameters: {}, result: { success: false }, turn_count: 2, tool_call_id: 'c2' },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
    const report = reportConversation(result)
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/)
    const event = { type: 'tool_execution', schema_version: 1, parameters_sha256: digest, result_sha256: digest }
    expect(report).toEqual({
      schema: 'agents-api.conversation-result',
      version: 1,
      tool_audit_events: [
        { ...event, tool_name: 'pay', tool_call_id: 'pay-0', turn_count: 1, success: true },
        { ...event, tool_name: 'pay', tool_call_id: 'c2', turn_count: 2, success: false },
      ],
      tool_observability: [
        { tool_name: 'pay', argument_names: ['card'], argument_count: 1, result_type: 'object' },
        { tool_name: 'pay', argument_names: [], argument_count: 0, result_type: 'object' },
      ],
      run_outcome: {
        schema: 'agents-api.run-outcome',
        status: 'completed',
        completed: true,
        stop_reason: 'completed',
        retryable: false,
      },
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
    expect(JSON.stringify(report)).not.toContain('secret')
    const failed = reportConversation(buildFailedResult([], 'no messages'))
    expect(failed.run_outcome).toMatchObject({ status: 'failed', completed: false, stop_reason: 'no messages' })
    const stalled = normalizeConversationResult({ messages: [], status: 'stalled', completed: false })
    expect(reportConversation(stalled).run_outcome).toMatchObject({ status: 'stalled', retryable: true })
  })

  it('of null leave the conversation to the built-in loop', async () => {
    const result = await runConversation({ ...request, messages: [] }, { foreign: async () => null, builtIn })
    expect(result.messages[0]?.content).toBe('built in')
  })

  it('convert a host’s object or refuse it, and never pass it on (E-30)', () => {
    const host = new (class HostMessage {
      role = 'user'
      content = 'hi'
    })()
    expectRefused(host, 'envelope must be JSON serializable')
    expect(normalizeEnvelope({ ...host })).toMatchObject({ role: 'user', content: 'hi' })
  })
})
