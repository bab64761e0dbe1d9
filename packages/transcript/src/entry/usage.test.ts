import { describe, expect, it } from 'vitest'
import type { FormatName } from '../index.ts'
import { aguiCodec, codecs, numberEntries, redactEntry } from '../index.ts'

let made = 0
const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => `u${++made}` }
const usage = [
  { model: 'large', input_tokens: 100, output_tokens: 9, total_tokens: 109, reasoning_tokens: 4 },
  { provider: 'local', model: 'small', input_tokens: 5, cached_input_tokens: 3, cache_write_input_tokens: 1 },
]
const aguiUsage = [
  { model: 'large', inputTokens: 100, outputTokens: 9, totalTokens: 109, reasoningTokens: 4 },
  { provider: 'local', model: 'small', inputTokens: 5, cachedInputTokens: 3, cacheWriteInputTokens: 1 },
]
const answer = {
  id: 'r1',
  thread_id: 't',
  in_reply_to: 'm1',
  sender: '@desk@host.example',
  parts: [
    { kind: 'text', mime: 'text/markdown', content: 'Looking.' },
    { kind: 'tool_call', id: 'c1', name: 'look', args: {}, result: 1 },
    { kind: 'text', mime: 'text/markdown', content: 'Found.' },
  ],
  status: 'completed',
  usage,
  created_at: '2026-03-13T10:00:00Z',
}
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('the usage of an answer', () => {
  it('is on the answer’s first message, and reads back', () => {
    const entries = codecs.normalized.read([answer], context)
    expect(entries.map(entry => entry.usage)).toEqual([usage, undefined, undefined, undefined])
    expect(codecs.normalized.write(entries)).toEqual([answer])
    const done = { ...answer, parts: answer.parts.slice(1) }
    const [call, result, spoken] = codecs.normalized.read([done], context)
    expect([call?.usage, result?.usage, spoken?.usage]).toEqual([undefined, undefined, usage])
    expect(codecs.normalized.write([call, result, spoken].filter(entry => entry !== undefined))).toEqual([done])
    const silent = { ...answer, parts: answer.parts.slice(1, 2) }
    expect(codecs.normalized.read([silent], context).map(entry => entry.usage)).toEqual([usage, undefined])
    const [question] = codecs.normalized.read(
      [{ ...answer, parts: [answer.parts[0]], status: 'input_required' }],
      context,
    )
    expect(question?.usage).toEqual(usage)
  })

  it.each<FormatName>(['agui', 'envelope', 'normalized'])('is readable in the format %s', format => {
    const entries = codecs.normalized.read([answer], context)
    const abroad = plain(codecs[format].write(entries, { marker: 'all' })) as object[]
    const elsewhere = codecs[format].read(abroad, { ...context, thread_id: 'elsewhere' })
    expect(elsewhere[0]?.usage).toEqual(usage)
    expect(elsewhere.slice(1).every(entry => entry.usage === undefined)).toBe(true)
    expect(plain(codecs[format].write(elsewhere, { marker: 'none' }))[0]).toMatchObject(
      format === 'normalized' ? { usage } : { metadata: { usage: format === 'agui' ? aguiUsage : usage } },
    )
  })

  it('reaches a chat in AG-UI’s terms', () => {
    const [entry] = codecs.normalized.read([answer], context)
    expect(entry && aguiCodec.write([entry])[0]?.metadata?.usage).toEqual(aguiUsage)
  })

  it.each([
    ['what adds up to nothing', [{ inputTokens: 1, outputTokens: 1, totalTokens: 3 }]],
    ['what says more', [{ inputTokens: 1, audioTokens: 1 }]],
    ['other words', [{ input_tokens: 1 }]],
    ['nothing', []],
    ['no list', { inputTokens: 1 }],
  ])('stays in the metadata of a foreign message: %s', (_, foreign) => {
    const message = { id: 'm', role: 'assistant', content: 'hi', metadata: { usage: foreign } }
    const read = aguiCodec.read([message], context)
    expect(read[0]?.usage).toBeUndefined()
    expect(plain(aguiCodec.write(read))).toEqual([message])
  })

  it('fails the answer if it is invalid', () => {
    const wrong = { ...answer, usage: [{ input_tokens: -1 }] }
    expect(() => codecs.normalized.parse(wrong)).toThrow(
      expect.objectContaining({ code: 'malformed', message: expect.stringContaining('usage.0.input_tokens') }),
    )
  })

  it('disappears with the text of a redacted entry', () => {
    const [entry] = numberEntries(codecs.normalized.read([answer], context))
    expect(entry && redactEntry(entry)).not.toHaveProperty('usage')
  })
})
