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
import { messagesOf } from './arbitraries.ts'

let made = 0
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
const listOf = (format: FormatName) => fc.array(messagesOf[format], { maxLength: 6 })
const normal = (format: FormatName, messages: readonly object[]) =>
  plain(format === 'envelope' ? messages.map(message => normalizeEnvelope(message)) : messages)

function contextOf(stored: readonly TranscriptEntry[] = [], rest: Partial<ReadContext> = {}): ReadContext {
  const byId = new Map(stored.map(entry => [entry.entry_id, entry]))
  return {
    thread_id: 'thread',
    at: '2026-03-13T10:00:00.000Z',
    agent_key: 'desk',
    newId: () => `e${++made}`,
    find: id => byId.get(id),
    ...rest,
  }
}

/** As a store keeps them: through JSON, checked. */
function store(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
  const bodies = entries.map(entry => entryBodySchema.parse(plain(entry)))
  return numberEntries(bodies).map(entry => transcriptEntrySchema.parse(plain(entry)))
}

describe('laws of the dialects', () => {
  for (const format of formatNames) {
    const codec = codecs[format]

    it(`LAW-1 ${format}: write(read(x)) is x, through a store of JSON`, () => {
      fc.assert(
        fc.property(listOf(format), messages => {
          const stored = store(codec.read(messages, contextOf()))
          expect(plain(codec.write(stored))).toEqual(normal(format, messages))
        }),
        { numRuns: drawCount({ quick: 12, long: 80 }) },
      )
    })

    for (const other of formatNames.filter(name => name !== format)) {
      it(`LAW-2 ${format} → canonical → ${other} → canonical → ${format} changes nothing`, () => {
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

    it(`LAW-2 ${format}: a written export with origin markers reads as the same entries`, () => {
      fc.assert(
        fc.property(listOf(format), messages => {
          const stored = store(codec.read(messages, contextOf()))
          const exported = plain(codec.write(stored, { marker: 'all' })) as object[]
          const [again, appended] = [codec.read(exported, contextOf(stored)), [...stored]]
          // Where a message's own id is its bag, the store knows it by that id.
          if (format !== 'normalized') expect(again).toEqual(appended)
          else expect(plain(codec.write(again))).toEqual(normal(format, messages))
        }),
        { numRuns: drawCount({ quick: 8, long: 50 }) },
      )
    })
  }

  it('LAW-3: the reader strips an origin marker of another thread, or of nothing, and the message is new', () => {
    for (const format of formatNames.filter(name => name !== 'normalized')) {
      fc.assert(
        fc.property(messagesOf.swarm, message => {
          const stored = store(codecs.swarm.read([message], contextOf()))
          const abroad = plain(codecs[format].write(stored, { marker: 'all' })) as object[]
          const found: string[] = []
          const elsewhere = contextOf(stored, { thread_id: 'other', report: ({ code }) => found.push(code) })
          const read = codecs[format].read(abroad, elsewhere)
          expect(found).toHaveLength(abroad.length)
          expect(read.some(({ entry_id }) => stored.some(entry => entry.entry_id === entry_id))).toBe(false)
          expect(JSON.stringify(codecs[format].write(read))).not.toContain('"gateway"')
        }),
        { numRuns: drawCount({ quick: 10, long: 25 }) },
      )
    }
  })

  it('LAW-3: a bag on other words than its entry’s does not count', () => {
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
