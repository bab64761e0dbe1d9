import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../test/arbitraries.ts'
import type { EntryBody, ExchangeFormat, TranscriptStore } from '../index.ts'
import { codecs, createMemoryTranscript, exportThread, formatNames, importThread } from '../index.ts'

const system = {
  now: () => 1_700_000_000_000,
  randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
}
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

async function openThread(transcript: TranscriptStore, key = 'a') {
  return transcript.openThread('ann', { transport: 'x', key })
}

async function takeAll(transcript: TranscriptStore, format: ExchangeFormat, key = 'a') {
  const messages: object[] = []
  for await (const page of exportThread(await openThread(transcript, key), format, { transcript }))
    messages.push(...page)
  return messages
}

/** Wraps a store so that each read returns at most this many entries. */
function shortenPages(transcript: TranscriptStore, most: number): TranscriptStore {
  return {
    ...transcript,
    read: (thread, range = {}) =>
      transcript.read(thread, range.limit === undefined ? range : { ...range, limit: Math.min(range.limit, most) }),
  }
}

describe('exportThread()', () => {
  it('returns the same messages for any page size, in every format', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...formatNames),
        fc.constantFrom(...formatNames),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        async (format, other, most, picks) => {
          const messages = fc.sample(messagesOf[format], { numRuns: 8, seed: picks.next().value ?? 0 })
          const transcript = createMemoryTranscript(system)
          await importThread(await openThread(transcript), format, plain(messages), { transcript, system })
          const expected = plain(await takeAll(transcript, other))
          expect(plain(await takeAll(shortenPages(transcript, most), other))).toEqual(expected)
          const all = await transcript.read(await openThread(transcript))
          expect(expected).toEqual(plain(codecs[other].write(all, { marker: 'all' })))
        },
      ),
      { numRuns: drawCount({ quick: 10, long: 60 }) },
    )
  })

  it('reads one page of bounded size at a time, on demand', async () => {
    const transcript = createMemoryTranscript(system)
    const thread = await openThread(transcript)
    await transcript.append(
      thread,
      Array.from({ length: 1_000 }, (_, index) => entryOf(thread.thread_id, index)),
    )
    const asked: object[] = []
    const watched: TranscriptStore = {
      ...transcript,
      read(key, range = {}) {
        asked.push(range)
        return transcript.read(key, range)
      },
    }
    const pages = exportThread(thread, 'store', { transcript: watched })
    await pages.next()
    expect(asked).toHaveLength(1)
    let most = 0
    for await (const page of pages) most = Math.max(most, page.length)
    expect(most).toBe(200)
    for (const range of asked) expect(range).toMatchObject({ limit: 200, max_bytes: 1024 * 1024 })
  })
})

function entryOf(thread_id: string, index: number): EntryBody {
  return {
    entry_id: `e${index}`,
    thread_id,
    scope: 'conversation',
    kind: 'text',
    role: 'user',
    content: { parts: [{ kind: 'text', mime: 'text/plain', content: `number ${index}` }] },
    at: '2026-03-13T10:00:00.000Z',
  }
}

/** Wraps a store that stops after so many slices, like a killed process. */
function breakAfter(transcript: TranscriptStore, slices: number): TranscriptStore {
  let left = slices
  return {
    ...transcript,
    async append(thread, entries, request) {
      if (left === 0) throw new Error('killed')
      left -= 1
      return transcript.append(thread, entries, request)
    },
  }
}

/** Messages without ids, which differ only in their positions. */
const nameless: Partial<Record<ExchangeFormat, (index: number) => readonly object[]>> = {
  envelope: index => [
    { role: 'user', content: 'again' },
    {
      role: 'assistant',
      content: '',
      metadata: { type: 'tool_call', tool_name: 'ls', parameters: { index }, turn: 1 },
    },
    { role: 'tool', content: 'done', metadata: { type: 'tool_result', tool_name: 'ls', success: true, turn: 1 } },
  ],
  store: index => [
    { type: 'task', content: 'again' },
    { type: 'action', tool: 'ls', args: { index } },
    { type: 'observation', content: 'done' },
  ],
  swarm: () => [{ role: 'user', agentName: 'a', content: 'again', mode: 'user' }],
}

describe('importThread()', () => {
  it.each(Object.entries(nameless))(
    'gives the result of one import when it repeats after an interruption: %s',
    async (format, make) => {
      const name = format as ExchangeFormat
      const messages = Array.from({ length: 150 }, (_, index) => make(index)).flat()
      const [broken, complete] = [createMemoryTranscript(system), createMemoryTranscript(system)]
      const earlier = { type: 'user_message', content: 'before' }
      for (const transcript of [broken, complete]) {
        await importThread(await openThread(transcript), 'store', [earlier], { transcript, system })
      }
      const cut = importThread(await openThread(broken), name, messages, {
        transcript: breakAfter(broken, 1),
        system,
      })
      await expect(cut).rejects.toThrow('killed')
      expect((await broken.read(await openThread(broken))).length).toBeGreaterThan(1)
      const again = await importThread(await openThread(broken), name, messages, { transcript: broken, system })
      const once = await importThread(await openThread(complete), name, messages, { transcript: complete, system })
      expect(again.entries).toBe(once.entries)
      expect(again.added).toBeLessThan(once.added)
      const bare = async (transcript: TranscriptStore) =>
        codecs[name as keyof typeof codecs].write(
          await transcript.read(await openThread(transcript), { after_seq: 1 }),
          { marker: 'none' },
        )
      expect(plain(await bare(broken))).toEqual(plain(await bare(complete)))
      const third = await importThread(await openThread(broken), name, messages, { transcript: broken, system })
      expect(third).toMatchObject({ entries: once.entries, added: 0 })
    },
  )

  it('stores nothing if it cannot read the last of many messages, and names it', async () => {
    const transcript = createMemoryTranscript(system)
    const lines = [...Array.from({ length: 500 }, (_, index) => entryOf('t', index)), { entry_id: 'bad' }]
    await expect(
      importThread(await openThread(transcript), 'jsonl', lines, { transcript, system }),
    ).rejects.toMatchObject({
      code: 'malformed',
      message: expect.stringContaining('Cannot read entry 500: '),
    })
    expect(await transcript.read(await openThread(transcript))).toEqual([])
  })

  it('reports findings by their index in the full list', async () => {
    const transcript = createMemoryTranscript(system)
    const messages = [
      ...Array.from({ length: 250 }, () => ({ type: 'user_message', content: 'x' })),
      { type: 'user_message', content: 'x', gateway: { v: 1, entry_id: 'nobody', kind: 'text' } },
    ]
    const { findings } = await importThread(await openThread(transcript), 'store', messages, { transcript, system })
    expect(findings).toEqual([expect.objectContaining({ code: 'bag_not_trusted', index: 250 })])
  })

  it('recognizes stored messages from before turns had names', async () => {
    const transcript = createMemoryTranscript(system)
    const thread = await openThread(transcript)
    await transcript.append(thread, [{ ...entryOf(thread.thread_id, 1), turn_id: 'store-5' }])
    const [written = {}] = await takeAll(transcript, 'store')
    expect(written).toMatchObject({ turn_id: 'store-5' })
    const { turn_id: _, ...earlier } = plain(written)
    expect(await importThread(thread, 'store', [earlier], { transcript, system })).toMatchObject({ added: 0 })
    expect(await takeAll(transcript, 'store')).toEqual([written])
  })

  it('leaves time for others: it imports 10 000 messages in steps of at most a hundred', async () => {
    const transcript = createMemoryTranscript(system)
    const sizes: number[] = []
    const watched: TranscriptStore = {
      ...transcript,
      append(thread, entries, request) {
        sizes.push(entries.length)
        return transcript.append(thread, entries, request)
      },
    }
    let turns = 0
    const tick = () => {
      turns += 1
      if (turns > 0) timer = setImmediate(tick)
    }
    let timer = setImmediate(tick)
    const messages = Array.from({ length: 10_000 }, (_, index) => ({ type: 'user_message', content: `${index}` }))
    await importThread(await openThread(transcript), 'store', messages, { transcript: watched, system })
    clearImmediate(timer)
    expect(Math.max(...sizes)).toBe(100)
    expect(turns).toBeGreaterThanOrEqual(300)
  })
})
