// Tests that the transcript of a store behaves like the one in memory, on both engines.
import { Rejection, Unavailable } from '@postern/message'
import { sketchIntake, sketchResponse } from '@postern/testing'
import { drawCount } from '@postern/testing/scale'
import type { EntryBody, EntryRange, ThreadKey, TranscriptStore } from '@postern/transcript'
import { contentOfText, createMemoryTranscript, entryBodySchema, messageIdOf } from '@postern/transcript'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GatewayStore } from '../src/index.ts'

const alias = { transport: 'agui', key: 'thread/../1' }

/** Opens a store with a clock that the test sets. With an existing name it has the data of the earlier one. */
type OpenTranscriptStore = (now: () => number, name?: string) => Promise<GatewayStore>

function makeEntry(body: Partial<EntryBody>): EntryBody {
  return entryBodySchema.parse({
    entry_id: 'e1',
    thread_id: 't',
    scope: 'conversation',
    kind: 'text',
    role: 'user',
    content: contentOfText('hi'),
    at: '2026-03-13T10:00:00.000Z',
    ...body,
  })
}

const someEntry: fc.Arbitrary<EntryBody> = fc
  .record(
    {
      entry_id: fc.integer({ min: 1, max: 12 }).map(n => `e${n}`),
      native_id: fc.option(
        fc.integer({ min: 1, max: 4 }).map(n => `n${n}`),
        { nil: undefined },
      ),
      kind: fc.constantFrom('text', 'final', 'task', 'tool_call', 'global_observation', 'input_required'),
      role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
      scope: fc.constantFrom('conversation', 'agent', 'global'),
      agent_key: fc.constantFrom(undefined, 'a', 'b', 'c'),
      group_id: fc.constantFrom(undefined, 'g1', 'g2'),
      content: fc.constantFrom('yes', 'no').map(contentOfText),
      ext: fc.constantFrom(undefined, { agui: { of: 1 } }, { store: { of: 1 } }),
    },
    { requiredKeys: ['entry_id', 'kind', 'role', 'scope', 'content'] },
  )
  .map(body => makeEntry(JSON.parse(JSON.stringify(body)) as Partial<EntryBody>))

const someRange: fc.Arbitrary<EntryRange> = fc
  .record(
    {
      after_seq: fc.integer({ min: 0, max: 6 }),
      before_seq: fc.integer({ min: 0, max: 20 }),
      limit: fc.integer({ min: 0, max: 8 }),
      tail: fc.integer({ min: 0, max: 8 }),
      scopes: fc.subarray(['conversation', 'agent', 'global'] as const),
      kinds: fc.subarray(['text', 'task', 'final'] as const),
      agent_keys: fc.subarray(['a', 'b', 'nobody']),
      chat: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map(range => JSON.parse(JSON.stringify(range)) as EntryRange)

let runs = 0

async function play(transcripts: TranscriptStore, steps: readonly (readonly [string, readonly EntryBody[]])[]) {
  const thread = await transcripts.openThread('ann', { transport: 'run', key: `${++runs}` })
  const answers = []
  for (const [step, entries] of steps) {
    answers.push(await (step === 'append' ? transcripts.append(thread, entries) : transcripts.replace(thread, entries)))
  }
  return { thread, answers }
}

/** Tests the behaviour of a transcript, whatever its engine. */
export function transcriptContract(engine: string, openGatewayStore: OpenTranscriptStore): void {
  async function openTranscript(name?: string) {
    let time = 1_000_000
    const store = await openGatewayStore(() => time, name)
    return { transcripts: store.transcript, store, pass: (ms: number) => (time += ms) }
  }

  describe(`the transcript of ${engine}`, () => {
    it('behaves like the transcript in memory, for all writes and ranges', async () => {
      const { store, transcripts } = await openTranscript()
      const steps = fc.array(
        fc.tuple(fc.constantFrom('append', 'append', 'replace'), fc.array(someEntry, { maxLength: 6 })),
        {
          maxLength: 5,
        },
      )
      const run = async (written: readonly (readonly [string, readonly EntryBody[]])[], range: EntryRange) => {
        const memory = createMemoryTranscript({ now: () => 1, randomBytes: size => new Uint8Array(size) })
        const [ours, model] = [await play(transcripts, written), await play(memory, written)]
        expect(ours.answers).toEqual(model.answers)
        expect(await transcripts.read(ours.thread, range)).toEqual(await memory.read(model.thread, range))
        const ids = ['e3', 'e1', 'nothing']
        expect(await transcripts.find(ours.thread, ids)).toEqual(await memory.find(model.thread, ids))
        await transcripts.forget(ours.thread)
        expect(await transcripts.read(ours.thread)).toEqual([])
      }
      await fc.assert(fc.asyncProperty(steps, someRange, run), { numRuns: drawCount({ quick: 40, long: 300 }) })
      await store.close()
    }, 180_000)

    it('names the messages of an answer by its id, with any tool calls', async () => {
      const { transcripts, store } = await openTranscript()
      await store.admit(sketchIntake('m1', { message: { thread_source: 't1' } }), 'c1')
      const [turn] = await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 60_000 })
      if (!turn) throw new Error('there is no turn')
      const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
      const call = { kind: 'tool_call', id: 'c1', name: 'clock', args: {}, result: 12 } as const
      const parts = [text('Looking.'), call, text('Noon.')]
      const trace = [{ ...call, id: 'c0' }]
      await store.commit(turn, { response: { ...sketchResponse(turn, ''), id: 'r1', parts, trace }, deliveries: [] })
      const thread = await transcripts.openThread('ann', alias)
      await transcripts.bindStore(thread, turn.thread)
      const entries = await transcripts.read(thread)
      const ids = ['m1', 'r1.c0', 'r1.c0-result', 'r1', 'r1.c1', 'r1.c1-result', 'r1-2']
      expect(entries.map(messageIdOf)).toEqual(ids)
      // The entries of the copy are stored in the transcript itself.
      const copy = await transcripts.openThread('ann', { ...alias, key: 'copy' })
      await transcripts.append(copy, entries)
      expect((await transcripts.read(copy)).map(messageIdOf)).toEqual(ids)
      await store.close()
    })

    it('shows a final in the chat unless it repeats the last answer', async () => {
      const { transcripts, store } = await openTranscript()
      const thread = await transcripts.openThread('ann', alias)
      const answer = (entry_id: string, kind: 'text' | 'final', text: string) =>
        makeEntry({ entry_id, kind, role: 'assistant', content: contentOfText(text) })
      const entries = [answer('e1', 'text', 'yes'), answer('e2', 'final', 'yes'), answer('e3', 'final', 'no')]
      const appended = await transcripts.append(thread, entries)
      expect(appended.map(({ chat_seq }) => chat_seq)).toEqual([1, undefined, 2])
      await store.close()
    })

    it('hides a thread from another owner and refuses their write (E-37)', async () => {
      const { transcripts, store } = await openTranscript()
      const thread = await transcripts.openThread('ann', alias)
      await transcripts.append(thread, [makeEntry({})])
      const foreign = { ...thread, owner: 'bob' }
      expect(await transcripts.read(foreign)).toEqual([])
      expect(await transcripts.find(foreign, ['e1'])).toEqual([])
      expect(await transcripts.listAliases(foreign)).toEqual([])
      await transcripts.forget(foreign)
      await expect(transcripts.append(foreign, [makeEntry({})])).rejects.toThrow(
        new Rejection('forbidden', 'Cannot use thread: no such thread of this owner'),
      )
      expect(await transcripts.read(thread)).toHaveLength(1)
      await store.close()
    })

    it('refuses a second writer during a lock, and a stale token releases nothing (E-35)', async () => {
      const { transcripts, store, pass } = await openTranscript()
      const thread = await transcripts.openThread('ann', alias)
      const first = await transcripts.acquireLock(thread, 300)
      expect(await transcripts.acquireLock(thread, 300)).toBeUndefined()
      const write = (entry_id: string, token?: string) =>
        transcripts.append(thread, [makeEntry({ entry_id })], { token })
      await expect(write('e1')).rejects.toThrow(new Unavailable('Cannot write thread: transcript_lock_contention'))
      await write('e1', first?.token)
      pass(301)
      expect(await transcripts.isLocked(thread)).toBe(false)
      const second = await transcripts.acquireLock(thread, 300)
      expect(second?.fence).toBe((first?.fence ?? 0) + 1)
      await expect(write('e2', first?.token)).rejects.toThrow('transcript_lock_contention')
      expect(await transcripts.releaseLock(thread, first?.token ?? '')).toBe(false)
      expect(await transcripts.releaseLock(thread, second?.token ?? '')).toBe(true)
      await write('e2')
      expect(await transcripts.read(thread)).toHaveLength(2)
      await store.close()
    })

    it('refuses a name of another thread, and gives two simultaneous callers the same thread', async () => {
      const { transcripts, store } = await openTranscript()
      const [one, two] = await Promise.all([transcripts.openThread('ann', alias), transcripts.openThread('ann', alias)])
      expect(one).toEqual(two)
      const other = await transcripts.openThread('ann', { transport: 'email', key: '<a@b>' })
      await expect(transcripts.addAlias(other, alias)).rejects.toMatchObject({
        code: 'forbidden',
        message: 'Cannot name thread: the name is another thread’s',
      })
      await transcripts.addAlias(one as ThreadKey, { transport: 'email', key: '<c@d>' })
      expect(await transcripts.listAliases(one as ThreadKey)).toEqual([alias, { transport: 'email', key: '<c@d>' }])
      await store.close()
    })

    it('survives a restart', async () => {
      const first = await openTranscript('restart.db')
      const thread = await first.transcripts.openThread('ann', alias)
      await first.transcripts.append(thread, [makeEntry({}), makeEntry({ entry_id: 'e2', role: 'assistant' })])
      await first.store.close()
      const second = await openTranscript('restart.db')
      const again = await second.transcripts.openThread('ann', alias)
      expect(again).toEqual(thread)
      expect((await second.transcripts.read(again)).map(({ seq, chat_seq }) => [seq, chat_seq])).toEqual([
        [1, 1],
        [2, 2],
      ])
      await second.store.close()
    })
  })

  describe('a read with a byte limit', () => {
    const big = (id: string, letters: number) =>
      makeEntry({ entry_id: id, content: contentOfText('x'.repeat(letters)) })
    const idsOf = (entries: readonly { readonly entry_id: string }[]) => entries.map(({ entry_id }) => entry_id)

    it.each([
      ['the store’s own', async () => (await openTranscript()).transcripts],
      ['memory', async () => createMemoryTranscript({ now: () => 1, randomBytes: size => new Uint8Array(size) })],
    ])('returns the first or last entries that fit, at least one: %s', async (_, open) => {
      const transcripts: TranscriptStore = await open()
      const thread = await transcripts.openThread('ann', alias)
      await transcripts.append(thread, [big('a', 9_000), big('b', 9_000), big('c', 9_000), big('d', 50_000)])
      expect(idsOf(await transcripts.read(thread, { max_bytes: 20_000 }))).toEqual(['a', 'b'])
      expect(idsOf(await transcripts.read(thread, { max_bytes: 20_000, limit: 1 }))).toEqual(['a'])
      expect(idsOf(await transcripts.read(thread, { max_bytes: 20_000, tail: 3 }))).toEqual(['d'])
      expect(idsOf(await transcripts.read(thread, { max_bytes: 20_000, tail: 2, before_seq: 4 }))).toEqual(['b', 'c'])
      await expect(transcripts.read(thread, { max_bytes: 20_000, is_whole: true })).rejects.toThrow(
        new Rejection('too_large', 'Cannot read thread: more than 20000 bytes; ask for fewer messages'),
      )
      expect(await transcripts.read(thread, { max_bytes: 200_000, is_whole: true })).toHaveLength(4)
    })
  })
}
