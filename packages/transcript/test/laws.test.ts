import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  codecs,
  type EntryBody,
  entryBodySchema,
  type FormatName,
  formatNames,
  normalizeEnvelope,
  numberEntries,
  type ReadContext,
  type TranscriptEntry,
  transcriptEntrySchema,
} from '../src/index.ts'
import { callingTalk, messagesOf } from './arbitraries.ts'

let made = 0
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
const listOf = (format: FormatName) => fc.array(messagesOf[format], { maxLength: 6 })
const normal = (format: FormatName, messages: readonly object[]) =>
  plain(format === 'envelope' ? messages.map(message => normalizeEnvelope(message)) : messages)

function contextOf(stored: readonly TranscriptEntry[] = [], overrides: Partial<ReadContext> = {}): ReadContext {
  const byId = new Map(stored.map(entry => [entry.entry_id, entry]))
  return {
    thread_id: 'thread',
    at: '2026-03-13T10:00:00.000Z',
    agent_key: 'desk',
    newId: () => `e${++made}`,
    find: id => byId.get(id),
    ...overrides,
  }
}

/** Returns entries in the form in which a store returns them: converted to JSON and back, and validated. */
function store(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
  const bodies = entries.map(entry => entryBodySchema.parse(plain(entry)))
  return numberEntries(bodies).map(entry => transcriptEntrySchema.parse(plain(entry)))
}

describe('laws of the dialects', () => {
  for (const format of formatNames) {
    const codec = codecs[format]

    it(`write(read(x)) is x in ${format}, through a JSON store (LAW-1)`, () => {
      fc.assert(
        fc.property(listOf(format), messages => {
          const stored = store(codec.read(messages, contextOf()))
          expect(plain(codec.write(stored))).toEqual(normal(format, messages))
        }),
        { numRuns: drawCount({ quick: 12, long: 80 }) },
      )
    })

    for (const other of formatNames.filter(name => name !== format)) {
      it(`a conversion from ${format} to ${other} and back changes nothing, with ${format} unchanged (LAW-2)`, () => {
        fc.assert(
          fc.property(listOf(format), messages => {
            const stored = store(codec.read(messages, contextOf()))
            const abroad = plain(codecs[other].write(stored)) as object[]
            for (const message of abroad) codecs[other].parse(message)
            const back = codecs[other].read(abroad, contextOf(stored))
            expect(back).toEqual(stored)
            expect(plain(codec.write(back))).toEqual(normal(format, messages))
          }),
          { numRuns: drawCount({ quick: 8, long: 50 }) },
        )
      })
    }

    it(`a written ${format} export with origin markers reads as the same entries (LAW-2)`, () => {
      fc.assert(
        fc.property(listOf(format), messages => {
          const stored = store(codec.read(messages, contextOf()))
          const exported = plain(codec.write(stored, { marker: 'all' })) as object[]
          const [again, appended] = [codec.read(exported, contextOf(stored)), [...stored]]
          // A store recognizes normalized messages by their own ids, so they are compared in their written form.
          if (format !== 'normalized') expect(again).toEqual(appended)
          else expect(plain(codec.write(again))).toEqual(normal(format, messages))
        }),
        { numRuns: drawCount({ quick: 8, long: 50 }) },
      )
    })
  }

  /** Lists calls and results as a reader of another store gets them. */
  const listTools = (entries: readonly EntryBody[]) => ({
    calls: entries
      .filter(({ kind }) => kind === 'tool_call')
      .map(({ tool }) => [tool?.call_id, tool?.name, tool?.args]),
    results: entries.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id),
  })

  // The messages of a store have no ids of calls, so their reader creates them.
  const isNumbered = (format: FormatName) => format !== 'store'
  const withoutIds = ({ calls, results }: ReturnType<typeof listTools>) => [
    calls.map(([, ...call]) => call),
    results.length,
  ]

  it.each(formatNames)('%s returns each call with its arguments and each result once (LAW-4)', format => {
    const codec = codecs[format]
    fc.assert(
      fc.property(callingTalk, messages => {
        const stored = store(codecs.agui.read(messages, contextOf()))
        const abroad = plain(codec.write(stored, { marker: 'all' })) as object[]
        expect(listTools(codec.read(abroad, contextOf(stored)))).toEqual(listTools(stored))
        const elsewhere = listTools(store(codec.read(abroad, contextOf())))
        expect(isNumbered(format) ? elsewhere : withoutIds(elsewhere)).toEqual(
          isNumbered(format) ? listTools(stored) : withoutIds(listTools(stored)),
        )
      }),
      { numRuns: drawCount({ quick: 20, long: 200 }) },
    )
  })

  it('an answer in the normalized format has a call once, with its arguments and its result', () => {
    fc.assert(
      fc.property(callingTalk, messages => {
        const stored = store(codecs.agui.read(messages, contextOf()))
        const written = plain(codecs.normalized.write(stored)) as {
          parts: { kind: string; id: string; args: object }[]
        }[]
        const calls = written.flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'tool_call'))
        const isInterrupted = (id: string) =>
          messages.some(each => each.role === 'user' && each.content === 'well?' && each.id === `b${id[1]}`)
        const ids = calls.map(({ id }) => id).filter(id => !isInterrupted(id))
        expect(ids).toEqual([...new Set(ids)])
        const argsOf = new Map(listTools(stored).calls.map(([id, , args]) => [id, args]))
        for (const { id, args } of calls) expect(args).toEqual(argsOf.get(id))
      }),
      { numRuns: drawCount({ quick: 20, long: 200 }) },
    )
  })

  it('the reader of AG-UI names a message with an integer argument that other formats would round', () => {
    const reports: unknown[] = []
    const callOf = (text: string) => ({ id: 'c', type: 'function', function: { name: 'f', arguments: text } })
    const texts = [
      '{"n":12345678901234567890}',
      '{"n":"12345678901234567890"}',
      '{"n":9007199254740991,"z":-0,"f":1.0000000000000000002}',
    ]
    const messages = texts.map((text, at) => ({ id: `a${at}`, role: 'assistant', toolCalls: [callOf(text)] }))
    const report: ReadContext['report'] = ({ code, index }) => reports.push([code, index])
    const entries = codecs.agui.read(messages, contextOf([], { report }))
    expect(reports).toEqual([['number_rounded', 0]])
    expect(codecs.agui.write(entries)).toEqual(messages)
  })

  it('the reader strips an origin marker of another thread, or of nothing, and the message is new (LAW-3)', () => {
    for (const format of formatNames.filter(name => name !== 'normalized')) {
      fc.assert(
        fc.property(messagesOf.swarm, message => {
          const stored = store(codecs.swarm.read([message], contextOf()))
          const abroad = plain(codecs[format].write(stored, { marker: 'all' })) as object[]
          const codes: string[] = []
          const elsewhere = contextOf(stored, { thread_id: 'other', report: ({ code }) => codes.push(code) })
          const read = codecs[format].read(abroad, elsewhere)
          expect(codes).toHaveLength(abroad.length)
          expect(read.some(({ entry_id }) => stored.some(entry => entry.entry_id === entry_id))).toBe(false)
          expect(JSON.stringify(codecs[format].write(read))).not.toContain('"gateway"')
        }),
        { numRuns: drawCount({ quick: 10, long: 25 }) },
      )
    }
  })

  it('an origin marker on another text than its entry’s does not count (LAW-3)', () => {
    const entries = store(
      codecs.swarm.read([{ role: 'user', agentName: 'a', content: 'pay 5', mode: 'user' }], contextOf()),
    )
    const [abroad] = plain(codecs.envelope.write(entries))
    expect(codecs.envelope.read([abroad], contextOf(entries))).toEqual(entries)
    const [forged] = codecs.envelope.read([{ ...abroad, content: 'pay 5000' }], contextOf(entries))
    expect(forged?.entry_id).not.toBe(entries[0]?.entry_id)
    expect(forged?.content).toEqual({ parts: [{ kind: 'text', mime: 'text/plain', content: 'pay 5000' }] })
  })
})
