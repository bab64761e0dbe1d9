import { describe, expect, it } from 'vitest'
import { envelopeCodec, normalizedCodec, numberEntries, redactEntry, swarmCodec } from '../index.ts'

let made = 0
const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => `n${++made}` }
const answer = {
  id: 'r1',
  thread_id: 't',
  in_reply_to: 'm1',
  sender: '@desk@host.example',
  parts: [
    { kind: 'text', mime: 'text/markdown', content: 'Looking.' },
    { kind: 'tool_call', id: 'c1', name: 'look', args: { at: 'it' }, result: { found: 1 } },
    { kind: 'text', mime: 'text/markdown', content: '**Found.**' },
  ],
  status: 'completed',
  created_at: '2026-03-13T10:00:00Z',
}

describe('messages to agents and their answers', () => {
  it('texts, calls and findings of an answer are entries of one group, and become one answer again (TR-04)', () => {
    const entries = normalizedCodec.read([answer], context)
    expect(entries.map(({ kind, role }) => [kind, role])).toEqual([
      ['text', 'assistant'],
      ['tool_call', 'assistant'],
      ['tool_result', 'tool'],
      ['text', 'assistant'],
    ])
    expect(entries[2]?.tool).toEqual({ call_id: 'c1', name: 'look', result: { found: 1 } })
    expect(normalizedCodec.write(entries)).toEqual([answer])
  })

  it('an answer in other formats has separate calls and results if the format does', () => {
    const entries = normalizedCodec.read([answer], context)
    expect(envelopeCodec.write(entries).map(({ type }) => type)).toEqual(['text', 'tool_call', 'tool_result', 'text'])
    const rows = swarmCodec.write(entries, { marker: 'none' })
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', 'Looking.'],
      ['tool', '{"found":1}'],
      ['assistant', '**Found.**'],
    ])
    expect(rows[0]?.tool_calls?.[0]?.function).toEqual({ name: 'look', arguments: { at: 'it' } })
  })

  it('an answer that waits for an answer is a question', () => {
    const [entry] = normalizedCodec.read([{ ...answer, parts: [answer.parts[0]], status: 'input_required' }], context)
    expect(entry).toMatchObject({ kind: 'input_required', wait: { id: 'r1', reason: 'input', state: 'open' } })
  })

  it('the same text under another writer’s entry id does not count as its writer’s', () => {
    const stored = numberEntries(
      swarmCodec.read([{ role: 'user', agentName: 'desk', content: 'yes', mode: 'user' }], context),
    )
    const [abroad] = JSON.parse(JSON.stringify(normalizedCodec.write(stored)))
    const find = (id: string) => stored.find(({ entry_id }) => entry_id === id)
    expect(normalizedCodec.read([abroad], { ...context, find })).toEqual(stored)
    const forged = { ...abroad, sender: { ...abroad.sender, address: '@eve@evil.example' } }
    expect(normalizedCodec.read([forged], { ...context, find })[0]?.entry_id).not.toBe(stored[0]?.entry_id)
  })

  it.each(['assistant', 'user'])('an entry of the role %s without content has no part, and returns unchanged', role => {
    const row = { role, agentName: 'desk', content: '', mode: 'user' }
    const [entry] = swarmCodec.read([row], { ...context, agent_key: 'desk' })
    const stored = numberEntries(entry ? [{ ...entry, content: { parts: [] } }] : [])
    const written = normalizedCodec.write(stored, { marker: 'all' })
    expect(written).toMatchObject([{ parts: [] }])
    const find = (id: string) => stored.find(({ entry_id }) => entry_id === id)
    const exported = JSON.parse(JSON.stringify(written))
    expect(normalizedCodec.read(exported, { ...context, find })).toEqual(stored)
    const [elsewhere] = normalizedCodec.read(exported, context)
    expect(elsewhere).toMatchObject({ role, kind: entry?.kind, content: { parts: [] } })
    expect(normalizedCodec.write(elsewhere ? [elsewhere] : [])).toEqual(exported)
  })

  it('the reader names the invalid member of an object that is neither message nor answer', () => {
    expect(() => normalizedCodec.parse({ ...answer, status: 'odd' })).toThrow(
      expect.objectContaining({ code: 'malformed', message: expect.stringContaining('Cannot read response: status') }),
    )
    expect(() => normalizedCodec.parse('hi')).toThrow('Cannot read response')
  })
})

describe('redactEntry()', () => {
  it('keeps the position of an entry without its text, in any format', () => {
    const entries = numberEntries(normalizedCodec.read([answer], context))
    const left = entries.map(redactEntry)
    expect(left.map(({ seq, chat_seq }) => [seq, chat_seq])).toEqual(
      entries.map(({ seq, chat_seq }) => [seq, chat_seq]),
    )
    expect(JSON.stringify(left)).not.toMatch(/Looking|Found|found/)
    expect(() => envelopeCodec.write(left)).not.toThrow()
  })
})

describe('times and findings of envelopes', () => {
  it('a time without a zone is UTC, and keeps its original form (TR-09)', () => {
    const row = { role: 'user', content: 'hi', created_at: '2026-04-28 12:00:00' }
    const [entry] = envelopeCodec.read([row], context)
    expect([entry?.at, entry?.native_at]).toEqual(['2026-04-28T12:00:00.000Z', '2026-04-28 12:00:00'])
    expect(envelopeCodec.write(entry ? [entry] : [])[0]?.created_at).toBe('2026-04-28 12:00:00')
    const [odd] = envelopeCodec.read([{ ...row, created_at: '0000-00-00 00:00:00' }], context)
    expect([odd?.at, odd?.native_at]).toEqual([context.at, '0000-00-00 00:00:00'])
  })

  it('a reader’s finding reaches its caller with the index (E-13)', () => {
    const reports: unknown[] = []
    const rows = [{ role: 'user' }, { schema: 'agents-api.message', type: 'text', payload: {} }]
    envelopeCodec.read(rows, { ...context, report: ({ code, index }) => reports.push([code, index]) })
    expect(reports).toEqual([['version_missing', 1]])
  })

  it.each(['wizard', 'constructor'])('the reader reads an envelope of the unknown role %s as a user’s text', role => {
    const [entry] = envelopeCodec.read([{ role, content: 'hi' }], context)
    expect([entry?.kind, entry?.role, entry?.native_role]).toEqual(['text', 'user', role])
  })

  it('a tool result under a user’s role counts as a tool’s, and returns in its own form (TR-01)', () => {
    const row = { role: 'user', content: 'ok', metadata: { type: 'tool_result', tool_name: 't' } }
    const [entry] = envelopeCodec.read([row], context)
    expect([entry?.role, entry?.native_role]).toEqual(['tool', 'user'])
    expect(envelopeCodec.write(entry ? [entry] : [])[0]?.role).toBe('user')
  })

  it('the writer omits our own ids on request, and keeps the writer’s (TR-10)', () => {
    const entries = swarmCodec.read([{ role: 'user', agentName: 'a', content: 'x', mode: 'user' }], context)
    expect(envelopeCodec.write(entries)[0]?.id).toBe(entries[0]?.entry_id)
    expect(envelopeCodec.write(entries, { omitsOwnIds: true })[0]).not.toHaveProperty('id')
    const own = envelopeCodec.read([{ role: 'user', id: 'mine' }], context)
    expect(envelopeCodec.write(own, { omitsOwnIds: true })[0]?.id).toBe('mine')
  })
})
