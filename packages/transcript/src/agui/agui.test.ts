import { describe, expect, it } from 'vitest'
import { aguiCodec, type EntryBody, numberEntries, parseAguiMessage, storeCodec } from '../index.ts'

let made = 0
const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => `g${++made}` }
const read = (...messages: object[]): readonly EntryBody[] => aguiCodec.read(messages, context)
const again = (...messages: object[]) => JSON.parse(JSON.stringify(aguiCodec.write(read(...messages))))
const signed = 'https://xxx.supabase.co/storage/v1/object/sign/agent-files/agent-inputs/u/t/r/img.jpg?token=xxx'
const seedMessage = {
  id: 'msg-1',
  role: 'user',
  content: [
    { type: 'text', text: '帮我看看这张图' },
    { type: 'binary', mimeType: 'image/jpeg', url: signed },
  ],
}

describe('messages of AG-UI and of the older chat format', () => {
  it('a binary part and a 1.0 image become the same entry, and each returns in its own form (C-02, C-03)', () => {
    const image = { type: 'image', source: { type: 'url', value: signed, mimeType: 'image/jpeg' } }
    const modern = { ...seedMessage, content: [seedMessage.content[0], image] }
    const [[old], [now]] = [read(seedMessage), read(modern)]
    expect(old?.content).toEqual({
      parts: [
        { kind: 'text', mime: 'text/plain', content: '帮我看看这张图' },
        { kind: 'file', mime: 'image/jpeg', bytes_ref: { kind: 'url', url: signed } },
      ],
    })
    expect(now?.content).toEqual(old?.content)
    expect(again(seedMessage, modern)).toEqual([seedMessage, modern])
  })

  it('a binary part with data is a file, while one with only an id is not (C-11)', () => {
    const message = {
      ...seedMessage,
      content: [
        { type: 'binary', mimeType: 'image/png', data: 'iVBORw==', filename: 'a.png' },
        { type: 'binary', mimeType: 'image/png', id: 'upload-7' },
      ],
    }
    expect(read(message)[0]?.content).toEqual({
      parts: [
        { kind: 'file', name: 'a.png', mime: 'image/png', bytes_ref: { kind: 'inline', data_base64: 'iVBORw==' } },
      ],
    })
    expect(again(message)).toEqual([message])
  })

  it('the reader removes telemetry from the metadata, and keeps the producer’s members (C-19, C-20)', () => {
    const metadata = {
      run_id: 'run_1773287162123',
      stage: 'tool_execution',
      latency_ms: 1500,
      message_id: 'tool_run_abc123',
      tool_name: 'calendar_create_event',
    }
    const message = { id: 'm', role: 'assistant', content: 'done', metadata }
    expect(read(message)[0]).toMatchObject({ run_id: 'run_1773287162123', stage: 'tool_execution', latency_ms: 1500 })
    expect(read(message)[0]?.native_id).toBe('m')
    expect(again(message)).toEqual([message])
  })

  it('arguments are JSON text, and a result gets the name of its call (C-21)', () => {
    const messages = [
      {
        id: 'm1',
        role: 'assistant',
        content: 'looking',
        toolCalls: [
          { id: 'c1', type: 'function', function: { name: 'look', arguments: '{ "at": "it" }' } },
          { id: 'c2', type: 'function', function: { name: 'wait', arguments: '{}' } },
        ],
      },
      { id: 'm2', role: 'tool', toolCallId: 'c1', content: 'found' },
    ]
    const entries = read(...messages)
    expect(entries.map(({ kind, tool }) => [kind, tool?.name])).toEqual([
      ['text', undefined],
      ['tool_call', 'look'],
      ['tool_call', 'wait'],
      ['tool_result', 'look'],
    ])
    expect(entries[1]?.tool?.args).toEqual({ at: 'it' })
    expect(new Set(entries.slice(0, 3).map(({ group_id }) => group_id)).size).toBe(1)
    expect(again(...messages)).toEqual(messages)
  })

  it('arguments that are not an object stay text, and the call has an invalid mark (TR-02)', () => {
    for (const text of ['{"a":', '[1]', '']) {
      const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } }
      const message = { id: 'm', role: 'assistant', toolCalls: [call] }
      expect(read(message)[0]?.tool).toEqual({ call_id: 'c', name: 'f', args: {}, is_invalid: true })
      expect(again(message)).toEqual([message])
    }
  })

  it('the reader refuses by name what the 1.0 validators refuse', () => {
    const refuse = (message: object) => () => parseAguiMessage({ id: 'm', ...message })
    const refused = (field: string) =>
      expect.objectContaining({
        code: 'malformed',
        message: expect.stringContaining(`Cannot read AG-UI message: ${field}`),
      })
    expect(refuse({ role: 'user', content: 'x', metadata: null })).toThrow(refused('metadata'))
    expect(refuse({ role: 'user', content: 'x', metadata: [] })).toThrow(refused('metadata'))
    expect(refuse({ role: 'assistant', content: [{ type: 'text', text: 'x' }] })).toThrow(refused('content'))
    expect(refuse({ role: 'wizard', content: 'x' })).toThrow(refused('role'))
    expect(refuse({ role: 'tool', content: 'x' })).toThrow(refused('toolCallId'))
    expect(() => parseAguiMessage({ role: 'user', content: 'x' })).toThrow(refused('id'))
  })

  it('a message unknown to AG-UI becomes an activity that names its kind', () => {
    const entries = numberEntries(
      storeCodec.read(
        [
          { type: 'strategic_plan', content: { phases: [] } },
          { type: 'task', content: 'list' },
          { type: 'final', content: 'done' },
        ],
        context,
      ),
    )
    const written = aguiCodec.write(entries, { marker: 'none' })
    expect(written.map(({ role, activityType, content }) => [role, activityType, content])).toEqual([
      ['activity', 'plan.strategic', { phases: [] }],
      ['activity', 'task', { content: 'list' }],
      ['assistant', undefined, 'done'],
    ])
  })
})
