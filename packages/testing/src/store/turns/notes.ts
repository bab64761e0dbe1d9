// Tests that a store keeps the notes of an agent with its turn.

import { isoTime, LeaseLost } from '@postern/message'
import type { NoteBody, Store, StoredNote, Turn, TurnNote } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { sketchDeletion } from '../setup/action-sketches.ts'
import { sketchProvenSender } from '../setup/proven-sender.ts'
import { adasTask } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseMs,
  leaseOnlyTurn,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function noteContract(openStore: OpenStore): void {
  describe('notes of a turn', () => {
    describeKeeping(openStore)
    describeRetrying(openStore)
    describeNotRecalled(openStore)
    describeGoing(openStore)
  })
}

const notedAt = isoTime(Date.UTC(2026, 0, 3))

function sketchNote(name: string, content: string, members: Partial<NoteBody> = {}): TurnNote {
  return { name, at: notedAt, body: { kind: 'task', role: 'system', scope: 'agent', content, ...members } }
}

async function leaseNew(store: Store, id: string, thread = 't'): Promise<Turn> {
  await store.admit(sketchIntake(id, inThread(thread)), 'c')
  return leaseOnlyTurn(store)
}

const everything = { beforeMessage: Number.MAX_SAFE_INTEGER, limit: 100 }

async function listNotes(store: Store, { thread }: Pick<Turn, 'thread'>): Promise<readonly StoredNote[]> {
  return store.readNotes({ thread, ...everything })
}

async function textsOf(store: Store, turn: Pick<Turn, 'thread'>): Promise<readonly unknown[]> {
  return (await listNotes(store, turn)).map(({ body }) => body.content)
}

function describeKeeping(openStore: OpenStore): void {
  test(
    'the store keeps notes in order, before the answer that comes with some of them (S-31)',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      await store.note(turn, [sketchNote('call 1', 'one')])
      await store.note(turn, [sketchNote('note 1', 'two'), sketchNote('note 2', 'three')])
      await store.commit(turn, sketchAnswer(turn, 'done', [], { notes: [sketchNote('end 1', 'four')] }))
      const notes = await listNotes(store, turn)
      expect(notes.map(({ body }) => body.content)).toEqual(['one', 'two', 'three', 'four'])
      expect(notes[0]).toMatchObject({ message: turn.message, at: notedAt, body: sketchNote('', 'one').body })
      const [{ seq: answer } = { seq: 0 }] = await store.readHistory({ ...turn, beforeMessage: 1e9, head: 0, tail: 1 })
      for (const { seq } of notes) expect(seq).toBeLessThan(answer)
    }),
  )
  test(
    'readNotes() returns the newest notes of turns before a message',
    withStore(openStore, async ({ store }) => {
      const messages: number[] = []
      for (const id of ['m1', 'm2', 'm3']) {
        const turn = await leaseNew(store, id)
        messages.push(turn.message)
        await store.commit(turn, { ...sayNothing(), notes: [sketchNote('note 1', `of ${id}`)] })
      }
      const { thread, message } = await leaseNew(store, 'm4')
      const readNotes = async (beforeMessage: number, limit: number) =>
        (await store.readNotes({ thread, beforeMessage, limit })).map(({ body }) => body.content)
      expect(await readNotes(message, 2)).toEqual(['of m2', 'of m3'])
      expect(await readNotes(messages[2] ?? 0, 1)).toEqual(['of m2'])
      expect(await readNotes(message, 0)).toEqual([])
      expect(await store.readNotes({ thread: thread + 1, ...everything })).toEqual([])
    }),
  )
  test(
    'a worker that has lost the turn stores no notes',
    withStore(openStore, async ({ store, advance }) => {
      const lost = await leaseNew(store, 'm1')
      advance(leaseMs + 1)
      const leasedTurn = await leaseOnlyTurn(store)
      await expect(store.note(lost, [sketchNote('call 1', 'late')])).rejects.toBeInstanceOf(LeaseLost)
      await store.note(leasedTurn, [sketchNote('call 1', 'mine')])
      await store.commit(leasedTurn, sketchAnswer(leasedTurn, 'done'))
      await expect(store.note(leasedTurn, [sketchNote('call 2', 'after it')])).rejects.toBeInstanceOf(LeaseLost)
      expect(await textsOf(store, leasedTurn)).toEqual(['mine'])
    }),
  )
}

function describeRetrying(openStore: OpenStore): void {
  test(
    'a repeated turn has each of its notes once, in its latest form',
    withStore(openStore, async ({ store, now }) => {
      const firstTurn = await leaseNew(store, 'm1')
      await store.note(firstTurn, [
        sketchNote('note 1', 'one'),
        sketchNote('call 1', 'asked'),
        sketchNote('note 2', 'old'),
      ])
      await store.note(firstTurn, [sketchNote('note 3', 'of the first try alone')])
      await store.release(firstTurn, { dueAt: now() })
      const secondTurn = await leaseOnlyTurn(store)
      await store.note(secondTurn, [
        sketchNote('note 1', 'one'),
        sketchNote('call 1', 'asked'),
        sketchNote('note 2', 'new'),
      ])
      await store.commit(secondTurn, { ...sayNothing(), noteCount: 2 })
      expect(await textsOf(store, secondTurn)).toEqual(['one', 'asked', 'new'])
    }),
  )
  test(
    'a note that changes its kind moves behind the notes in between',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      await store.note(turn, [sketchNote('note 1', 'planned'), sketchNote('note 2', 'meanwhile')])
      await store.note(turn, [sketchNote('note 1', 'found', { kind: 'synthesis', scope: 'global' })])
      await store.note(turn, [sketchNote('note 3', 'last')])
      expect(await textsOf(store, turn)).toEqual(['meanwhile', 'found', 'last'])
      const seqs = (await listNotes(store, turn)).map(({ seq }) => seq)
      expect(new Set(seqs).size).toBe(3)
    }),
  )
}

function describeNotRecalled(openStore: OpenStore): void {
  test(
    'no history, task or list of messages shows notes (S-34)',
    withStore(openStore, async ({ store }) => {
      const sketch = inThread('t', { task: { ...adasTask, context: 't' }, thread: { scope: adasTask.owner } })
      await store.admit(sketchIntake('m1', sketch), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.note(turn, [sketchNote('note 1', 'inside')])
      await store.commit(turn, sketchAnswer(turn, 'outside'))
      const shownEntries = [
        await store.readHistory({ thread: turn.thread, beforeMessage: 1e9, head: 9, tail: 9 }),
        (await store.findTask(adasTask))?.entries,
        await store.listMessages({ limit: 9 }),
        await store.findMessage('m1'),
      ]
      expect(JSON.stringify(shownEntries)).toContain('outside')
      expect(JSON.stringify(shownEntries)).not.toContain('inside')
    }),
  )
  test(
    'notes for an answer to a few do not appear in a public thread',
    withStore(openStore, async ({ store }) => {
      const answerAs = async (id: string, visibility?: 'direct') => {
        const turn = await leaseNew(store, id)
        const response = { ...sketchResponse(turn, 'x'), ...(visibility && { visibility }) }
        await store.commit(turn, { response, deliveries: [], notes: [sketchNote('note 1', `of ${id}`)] })
        return turn
      }
      const turn = await answerAs('m1')
      await answerAs('m2', 'direct')
      expect(await textsOf(store, turn)).toEqual(['of m1'])
    }),
  )
}

function describeGoing(openStore: OpenStore): void {
  const noteAndAnswer = async (store: Store, id: string): Promise<Turn> => {
    const turn = await leaseNew(store, id)
    await store.note(turn, [sketchNote('note 1', `early of ${id}`)])
    await store.commit(turn, sketchAnswer(turn, 'done', [], { notes: [sketchNote('note 2', `late of ${id}`)] }))
    return turn
  }
  test(
    'notes disappear with the withdrawal of their message, and with its answer',
    withStore(openStore, async ({ store }) => {
      const author = 'https://peer.test/ada'
      const authorship = { author, object: 'https://peer.test/notes/1' }
      await store.admit(sketchIntake('m1', inThread('t', { authorship })), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.note(turn, [sketchNote('note 1', 'early of m1')])
      await store.commit(turn, sketchAnswer(turn, 'done'))
      await noteAndAnswer(store, 'm2')
      expect(await textsOf(store, turn)).toHaveLength(3)
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await textsOf(store, turn)).toEqual(['early of m2', 'late of m2'])
      await store.storeActions([sketchDeletion('answer to m2')], 'c')
      expect(await textsOf(store, turn)).toEqual([])
    }),
  )
  test(
    'notes disappear with each of the messages of a common answer',
    withStore(openStore, async ({ store }) => {
      const admit = (id: string) => {
        const authorship = { author: 'https://peer.test/ada', object: `https://peer.test/notes/${id}` }
        const message = { sender: sketchProvenSender('ada') }
        return store.admit(sketchIntake(id, inThread('t', { authorship, queueMode: { mode: 'merge' }, message })), 'c')
      }
      await admit('m1')
      const firstTurn = await leaseOnlyTurn(store)
      await admit('m2')
      await admit('m3')
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'done'))
      const mergedTurn = await leaseOnlyTurn(store)
      expect(mergedTurn.merged).toHaveLength(1)
      await store.commit(mergedTurn, sketchAnswer(mergedTurn, 'done', [], { notes: [sketchNote('note 1', 'of both')] }))
      await store.withdraw('a2a', [
        { kind: 'forget', author: 'https://peer.test/ada', object: 'https://peer.test/notes/m2' },
      ])
      expect(await textsOf(store, mergedTurn)).toEqual([])
    }),
  )
  test(
    'notes disappear with the person whose message caused them',
    withStore(openStore, async ({ store }) => {
      const turn = await noteAndAnswer(store, 'm1')
      await store.forgetPerson({ addresses: [{ via: 'a2a', address: '@ada@peer.test' }] })
      expect(await textsOf(store, turn)).toEqual([])
    }),
  )
  test(
    'notes disappear with their task, and free their quota',
    withStore(openStore, async ({ store, now, advance }) => {
      const admitText = async (id: string, text: string) => {
        const task = { owner: adasTask.owner, id, context: 't' }
        await store.admit(sketchIntake(id, inThread('t', { task, thread: { scope: adasTask.owner } })), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'done', [], { notes: [sketchNote('note 1', text)] }))
        return turn
      }
      const turn = await admitText('m1', 'x'.repeat(50_000))
      advance(1_000)
      const startedAt = now()
      await admitText('m2', 'small')
      expect(await store.expireTasks({ owner: adasTask.owner, maxBytes: 100_000, limit: 9 })).toMatchObject({
        removed: 0,
      })
      expect(await store.expireTasks({ unchangedSince: startedAt, limit: 9 })).toMatchObject({ removed: 1 })
      expect(await textsOf(store, turn)).toEqual(['small'])
      await admitText('m3', 'y'.repeat(50_000))
      expect(await store.expireTasks({ owner: adasTask.owner, maxBytes: 55_000, limit: 9 })).toMatchObject({
        removed: 0,
      })
      await admitText('m4', 'z'.repeat(50_000))
      expect(await store.expireTasks({ owner: adasTask.owner, maxBytes: 55_000, limit: 9 })).toMatchObject({
        removed: 2,
      })
    }),
  )
  test('durable notes outlive the process, even of an unfinished turn', async () => {
    const { store, reopen } = await openStore()
    const turn = await leaseNew(store, 'm1')
    await store.note(turn, [sketchNote('call 1', 'asked')])
    if (!reopen) return store.close()
    const later = await reopen()
    expect(await textsOf(later, turn)).toEqual(['asked'])
    await later.close()
  })
}
