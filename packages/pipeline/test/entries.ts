// Builds the entries of threads.
import type { HistoricalMessage, Part } from '@postern/message'
import fc from 'fast-check'
import type { Entry } from '../src/ports/records/transcript.ts'

type PartialEntry = Pick<Entry, 'role' | 'parts'> & Partial<Pick<Entry, 'author'>>

export function text(content: string): Part {
  return { kind: 'text', mime: 'text/plain', content }
}

/** Returns a thread of these entries, in this order. */
export function thread(partialEntries: readonly PartialEntry[]): readonly Entry[] {
  return partialEntries.map(({ role, parts, author }, index) => ({
    seq: index + 1,
    entryId: `entry-${index + 1}`,
    role,
    author: author ?? { address: role === 'user' ? '@alice@peer.test' : '@echo@agents.test' },
    parts,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
  }))
}

/** Returns a thread by its roles, `u` for the user and `a` for the agent. Each entry says its role and its position. */
export function script(roles: string): readonly Entry[] {
  return thread([...roles].map((role, index) => ({ role: roleOf(role), parts: [text(`${role}${index}`)] })))
}

/** Returns the entries that a store reads from the two ends of a thread. */
export function readEnds(entries: readonly Entry[], { head, tail }: { head: number; tail: number }): readonly Entry[] {
  const tailStart = Math.max(head, entries.length - tail)
  return [...entries.slice(0, head), ...entries.slice(tailStart)]
}

/** Returns turns as the entries of a thread. */
export function toEntries(turns: readonly HistoricalMessage[]): readonly Entry[] {
  return turns.map(({ id = '', role, sender, parts, timestamp }, index) => ({
    seq: index + 1,
    entryId: id,
    role,
    author: sender,
    parts,
    at: timestamp,
  }))
}

const arbitraryText = fc
  .oneof({ weight: 8, arbitrary: fc.string({ maxLength: 30 }) }, { weight: 1, arbitrary: fc.constant('x'.repeat(400)) })
  .map(text)

const arbitraryCall = fc
  .tuple(fc.constantFrom('c1', 'c2', 'c3'), fc.constantFrom('begun', 'ended', 'failed'))
  .map(([id, state]): Part => {
    const call = { kind: 'tool_call', id, name: 'look', args: {} } as const
    if (state === 'begun') return call
    return state === 'ended' ? { ...call, result: { found: id } } : { ...call, error: { message: 'not found' } }
  })

const arbitraryAttachment = fc.constantFrom<Part>(
  { kind: 'link', url: 'https://peer.test/' },
  { kind: 'file', name: 'a.txt', bytes_ref: { kind: 'inline', data_base64: 'YQ==' } },
)

const arbitraryPart = fc.oneof(
  { weight: 6, arbitrary: arbitraryText },
  { weight: 2, arbitrary: arbitraryCall },
  { weight: 1, arbitrary: arbitraryAttachment },
)

/** Generates realistic threads, with consecutive entries of one side, empty entries, open calls and huge turns. */
export function arbitraryThread(maxLength: number): fc.Arbitrary<readonly Entry[]> {
  const arbitraryEntry = fc.record({
    role: fc.constantFrom<Entry['role']>('user', 'assistant'),
    parts: fc.array(arbitraryPart, { maxLength: 3 }),
  })
  return fc.array(arbitraryEntry, { maxLength, size: 'max' }).map(thread)
}

export const arbitraryWindow = fc.record({
  keepHead: fc.integer({ min: 0, max: 5 }),
  maxTurns: fc.integer({ min: 0, max: 8 }),
  maxChars: fc.constantFrom(0, 20, 100, 500, 5_000),
})

function roleOf(letter: string): Entry['role'] {
  return letter === 'u' ? 'user' : 'assistant'
}
