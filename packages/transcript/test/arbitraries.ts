// Generates random messages of every format.
import type { Json } from '@postern/message'
import fc from 'fast-check'
import { type FormatName, markerName, messageTypeNames, messageTypes, swarmRoles } from '../src/index.ts'

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', 'hi', '0', 'a\n\nb', '{"a":1}'),
)
const word = fc.string({ minLength: 1, maxLength: 8 })
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
const map = fc
  .dictionary(fc.oneof(word, fc.constantFrom('type', 'a', 'turn')), json, { maxKeys: 4 })
  .filter(members => !(markerName in members))
const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('base64'))
const isoTime = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map(date => date.toISOString())
const plainTime = isoTime.map(iso => iso.slice(0, 19).replace('T', ' '))

/** Generates objects with any subset of the members of `model`. */
function some<Model extends object>(model: { [Name in keyof Model]: fc.Arbitrary<Model[Name]> }) {
  return fc.record(model, { requiredKeys: [] })
}

const count = fc.nat(9)
/** Generates usage in which some numbers are valid and some are not. */
const usageOf = (names: readonly string[]) =>
  fc.array(fc.record(Object.fromEntries(names.map(name => [name, count])), { requiredKeys: [] }), { maxLength: 2 })
const ownUsage = usageOf(['input_tokens', 'output_tokens', 'total_tokens', 'reasoning_tokens', 'cached_input_tokens'])
const aguiUsage = usageOf(['inputTokens', 'outputTokens', 'totalTokens', 'reasoningTokens', 'input_tokens', 'extra'])

/** Generates decisions of which some are valid and some are not. */
const decision = fc.oneof(
  fc.record(
    { method: fc.constantFrom('link', 'operator', 'timeout'), subject: word, approver: fc.constant('operator') },
    { requiredKeys: ['method'] },
  ),
  fc.record({ method: word, more: json }),
  json,
)

const envelopeMembers = {
  role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'developer', 'wizard'),
  content: fc.oneof(text, fc.array(json, { maxLength: 3 }), map),
  metadata: fc.oneof(
    map,
    fc.constant([]),
    fc.record({ tool_call_id: word, note: json }),
    fc.record({ usage: ownUsage }),
    fc.record({ decided_by: decision }),
    fc.record({ type: fc.constantFrom('tool_call', 'tool_result', 'banana'), tool_name: word, parameters: map }),
  ),
  id: fc.oneof(word, fc.constant('')),
  created_at: fc.oneof(plainTime, isoTime, word),
  updated_at: plainTime,
}
const envelopeType = fc.constantFrom(
  'text',
  'tool_call',
  'tool_result',
  'input_required',
  'approval_required',
  'final_result',
  'error',
  'delta',
  'multimodal_part',
)
const envelopePayload = fc.oneof(
  map,
  fc.constant([]),
  some({ tool_name: word, parameters: fc.oneof(map, fc.constant([])), turn: fc.integer() }),
  some({ tool_name: word, success: fc.boolean(), tool_data: json, error: fc.oneof(text, fc.constant(null)) }),
  some({ action_id: word, expires_at: word }),
)
const envelope = fc.oneof(
  some(envelopeMembers),
  fc
    .tuple(some(envelopeMembers), some({ extra: json }), fc.record({ type: envelopeType, payload: envelopePayload }))
    .map(([members, extra, form]) => ({ schema: 'agents-api.message', version: 1, ...extra, ...members, ...form })),
)

const storeCommon = some({
  timestamp: fc.oneof(fc.double({ min: 0, max: 4e9, noNaN: true }), isoTime, fc.constantFrom(0, 1e300, null)),
  turn_id: fc.constantFrom('t1', 't2', '', null),
  agent_key: fc.constantFrom('boss', 'w1', ''),
  phase_id: fc.oneof(fc.nat(3), fc.constant(null)),
  error_type: fc.oneof(word, fc.constant(null)),
  from_worker: word,
  summary: text,
  step: fc.nat(),
})
const store = fc.constantFrom(...messageTypeNames).chain(type => {
  const fields = messageTypes[type].required_fields
  const required = fc.record(Object.fromEntries(fields.map(name => [name, fc.oneof(text, json, map)])))
  return fc.tuple(map, storeCommon, required).map(([extra, common, own]) => ({ ...extra, ...common, ...own, type }))
})

const swarmCall = fc.record({
  id: fc.uuid(),
  type: fc.constant('function'),
  function: fc.record({ name: word, arguments: map }),
})
const swarm = fc
  .tuple(
    fc.record({
      role: fc.constantFrom(...swarmRoles),
      agentName: fc.constantFrom('triage', 'refunds', ''),
      content: text,
      mode: fc.constantFrom('user', 'tool'),
    }),
    some({
      tool_calls: fc.uniqueArray(swarmCall, { maxLength: 3, selector: ({ id }) => id }),
      tool_call_id: fc.oneof(word, fc.constant('')),
      images: fc.array(
        fc.oneof(
          base64,
          base64.map(data => `data:image/png;base64,${data}`),
          text,
        ),
        { maxLength: 2 },
      ),
      payload: fc.oneof(
        map,
        fc.constant(null),
        fc.record({ decided_by: decision }),
        fc.record({ decided_by: decision, more: json }),
      ),
      extra: json,
    }),
  )
  .map(([required, optional]) => ({ ...required, ...optional }))

const aguiPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({
    type: fc.constantFrom('image', 'audio', 'video', 'document'),
    source: fc.oneof(
      fc.record({ type: fc.constant('data'), value: fc.oneof(base64, word), mimeType: word }),
      fc.record({ type: fc.constant('url'), value: fc.oneof(fc.webUrl(), word) }),
      fc.record({ type: fc.constant('file'), value: word, provider: word }),
    ),
  }),
  fc.record({ type: fc.constant('binary'), mimeType: word, url: fc.webUrl() }),
  fc.record({ type: fc.constant('binary'), mimeType: word, id: word }),
)
const aguiCommon = fc
  .tuple(
    fc.record({ id: fc.uuid() }),
    some({
      name: word,
      metadata: fc.oneof(
        map,
        fc.record({ run_id: word, stage: word, latency_ms: fc.nat(), message_id: word }),
        fc.record({ usage: fc.oneof(aguiUsage, json) }),
        fc.record({ decided_by: decision }),
      ),
      encryptedValue: word,
    }),
  )
  .map(([id, common]) => ({ ...id, ...common }))
const aguiCall = fc.record({
  id: fc.uuid(),
  type: fc.constant('function'),
  function: fc.record({
    name: word,
    arguments: fc.oneof(
      map.map(args => JSON.stringify(args, null, 1)),
      text,
    ),
  }),
})
const aguiBody = fc.oneof(
  fc.record({ role: fc.constant('user'), content: fc.oneof(text, fc.array(aguiPart, { maxLength: 3 })) }),
  some({ content: text, toolCalls: fc.array(aguiCall, { maxLength: 3 }) }).map(body => ({
    role: 'assistant',
    ...body,
  })),
  fc.record({ role: fc.constantFrom('system', 'developer', 'reasoning'), content: text }),
  fc.record({
    role: fc.constant('tool'),
    toolCallId: word,
    content: fc.oneof(text, fc.array(aguiPart, { maxLength: 2 })),
  }),
  fc.record({ role: fc.constant('tool'), toolCallId: word, content: text, error: text }),
  fc.record({ role: fc.constant('activity'), activityType: word, content: map }),
)
const agui = fc.tuple(aguiCommon, aguiBody).map(([common, body]) => ({ ...common, ...body }))

const part = fc.oneof(
  fc.record({ kind: fc.constant('text'), mime: fc.constantFrom('text/plain', 'text/markdown'), content: text }),
  fc.record({ kind: fc.constant('link'), url: word, title: word }),
  fc.record({
    kind: fc.constant('file'),
    name: word,
    bytes_ref: fc.record({ kind: fc.constant('inline'), data_base64: base64 }),
  }),
  fc
    .tuple(fc.uuid(), word, some({ args: fc.oneof(map, json), result: json, error: fc.record({ message: text }) }))
    .map(([id, name, rest]) => ({ kind: 'tool_call', id, name, ...rest })),
  fc.record({
    kind: fc.constant('policy'),
    policy: fc.record({ kind: word, message: text, state: word }),
  }),
  fc.record({ kind: fc.constant('x-other'), a: json }),
)
const inbound = fc.record({
  id: fc.uuid(),
  thread_id: word,
  sender: fc.record({
    address: word,
    display_name: word,
    auth_method: fc.constant('none'),
    verified: fc.constant(false),
  }),
  recipient: word,
  parts: fc.array(part, { maxLength: 4 }),
  recipient_capabilities: fc.record({ mention_relay: fc.constant({ kind: 'none' }) }),
  received_via: fc.constantFrom('activitypub', 'email', 'a2a', 'web'),
  received_at: isoTime,
  raw: json,
})
const answer = fc.record({
  id: fc.uuid(),
  thread_id: word,
  in_reply_to: word,
  sender: word,
  parts: fc.array(part, { minLength: 1, maxLength: 4 }),
  status: fc.constantFrom('completed', 'input_required', 'failed', 'rejected', 'working'),
  created_at: isoTime,
})
const paid = fc.tuple(answer, fc.nat(9), fc.nat(9)).map(([said, input_tokens, output_tokens]) => ({
  ...said,
  usage: [{ model: 'm', input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }],
}))
const normalized = fc.oneof(
  paid,
  inbound,
  fc.tuple(inbound, fc.constantFrom('edit', 'follow', 'message')).map(([message, kind]) => ({ ...message, kind })),
  answer,
)

/** Generators of valid messages, one for each dialect. */
export const messagesOf: Record<FormatName, fc.Arbitrary<object>> = { envelope, agui, store, swarm, normalized }

const awkwardNumber = fc.constantFrom(-0, 1e21, 5e-324, 2 ** 64, 0.1 + 0.2, Number.MAX_SAFE_INTEGER)
const awkwardArgs = fc.dictionary(word, fc.oneof(json, awkwardNumber), { maxKeys: 3 })

/**
 * Generates a conversation of one agent as messages of AG-UI: calls together and one after another, with text or a person's message between a call
 * and its result.
 */
export const callingTalk = fc
  .array(
    fc.record({
      args: fc.array(awkwardArgs, { minLength: 1, maxLength: 3 }),
      said: text,
      between: fc.constantFrom('', 'agent', 'user'),
      ends: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map(rounds =>
    rounds.flatMap(({ args, said, between, ends }, round) => {
      const calls = args.map((each, at) => ({
        id: `c${round}-${at}`,
        type: 'function',
        function: { name: `f${at}`, arguments: JSON.stringify(each) },
      }))
      const results = calls.map(({ id }) => ({
        id: `r-${id}`,
        role: 'tool',
        toolCallId: id,
        content: `result of ${id}`,
      }))
      return [
        { id: `u${round}`, role: 'user', content: 'go' },
        { id: `a${round}`, role: 'assistant', content: said, toolCalls: calls },
        ...(between === 'agent' ? [{ id: `b${round}`, role: 'assistant', content: 'one moment' }] : []),
        ...(between === 'user' ? [{ id: `b${round}`, role: 'user', content: 'well?' }] : []),
        ...(ends ? results : results.slice(1)),
      ]
    }),
  )
