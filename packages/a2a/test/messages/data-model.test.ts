import { StreamResponse, Task } from '@a2a-js/sdk'
import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

const data_base64 = Buffer.from('{"key":"value","count":42}').toString('base64')

/** An agent that answers with every kind of content, or asks a question. */
const agent: Agent = {
  async *handle({ parts }) {
    if (joinTextParts(parts) === 'ask')
      return yield { status: 'input_required', parts: [{ kind: 'text', mime: 'text/plain', content: '?' }] }
    yield { kind: 'text', mime: 'text/markdown', content: 'hello' }
    yield { kind: 'file', name: 'a.txt', mime: 'text/plain', bytes_ref: { kind: 'inline', data_base64: 'dGNr' } }
    yield { kind: 'file', mime: 'text/plain', bytes_ref: { kind: 'url', url: 'https://example.com/output.txt' } }
    yield { kind: 'artifact', artifact_type: 'data', bytes_ref: { kind: 'inline', data_base64 } }
  },
}

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { desk: agent } })
})
afterAll(() => gateway.close())

type Json = Readonly<Record<string, unknown>>

/** Drops the members that ProtoJSON leaves out because they have the default value. */
function dropDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropDefaults)
  if (typeof value !== 'object' || value === null) return value
  const nonEmptyMembers = Object.entries(value).filter(
    ([, member]) => member !== '' && member !== false && !isEmpty(member),
  )
  return Object.fromEntries(nonEmptyMembers.map(([name, member]) => [name, dropDefaults(member)]))
}

function isEmpty(member: unknown): boolean {
  return Array.isArray(member) ? member.length === 0 : member === undefined
}

async function showTask(text: string): Promise<Json> {
  const { id } = (await gateway.sendText(text)).body.result.task
  return (await gateway.rpc('GetTask', { id })).body.result
}

test('a task matches the protobuf file, without loss or unknown members (DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001)', async () => {
  for (const text of ['hello', 'ask']) {
    const task = await showTask(text)
    expect(dropDefaults(Task.toJSON(Task.fromJSON(task)))).toEqual(task)
  }
})

test('a part has exactly one content (DM-PART-001)', async () => {
  const task = (await showTask('hello')) as { artifacts?: readonly { parts: readonly Json[] }[] }
  const [{ parts } = { parts: [] }] = task.artifacts ?? []
  const contents = ['text', 'raw', 'url', 'data']
  expect(parts.map(part => contents.filter(name => name in part))).toEqual([['text'], ['raw'], ['url'], ['data']])
  expect(parts[3]).toMatchObject({ data: { key: 'value', count: 42 } })
})

test('members have camelCase names, enum names and UTC times, and required ones are present (DM-SERIAL-001..004)', async () => {
  const names: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) names.push(name)
      if (name !== 'data') collect(member)
    }
  }
  const task = await showTask('ask')
  collect(task)
  collect(await showTask('hello'))
  expect(names.filter(name => !/^[a-z][A-Za-z]*$/.test(name))).toEqual([])
  expect(task).toMatchObject({
    id: expect.any(String),
    status: {
      state: expect.stringMatching(/^TASK_STATE_[A-Z_]+$/),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      message: { messageId: expect.any(String), role: 'ROLE_AGENT', parts: expect.any(Array) },
    },
  })
})

test('every event of a stream is a StreamResponse, without loss or unknown members (DM-TASK-002, DM-MSG-002)', async () => {
  const message = { messageId: 'dm-stream', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const events = await (await openStream(gateway, 'SendStreamingMessage', { message })).events()
  expect(events.length).toBeGreaterThan(4)
  for (const event of events) expect(dropDefaults(StreamResponse.toJSON(StreamResponse.fromJSON(event)))).toEqual(event)
})

test('the gateway ignores unknown members (DM-SERIAL-005)', async () => {
  const message = {
    messageId: 'dm-unknown',
    role: 'ROLE_USER',
    parts: [{ text: 'ask', newMember: 1 }],
    kind: 'message',
  }
  const { body } = await gateway.rpc('SendMessage', { message, newMember: {} })
  expect(body.result.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
})
