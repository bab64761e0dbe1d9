// Tests edits and deletions of messages, before and after their answer.
import { createHash } from 'node:crypto'
import { LeaseLost } from '@postern/message'
import type { Authorship, Store, Turn } from '@postern/pipeline'
import { maxAborts } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { sketchProvenSender } from '../setup/proven-sender.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseOnlyTurn,
  leaseTurns,
  messageIdsOf,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function editContract(openStore: OpenStore): void {
  describe('edits and deletes of messages', () => {
    describeEdits(openStore)
    describeMergedEdits(openStore)
    describeDeletes(openStore)
  })
}

const adaIri = 'https://peer.test/ada'
const sender = sketchProvenSender('ada')
const listTexts = ({ content }: Turn) => content.parts.map(part => (part.kind === 'text' ? part.content : part.kind))
const createAuthorship = (object = 'note'): Authorship => ({ author: adaIri, object })

function sketchMessage(id: string, sketch: IntakeSketch = {}, object = 'note') {
  const { message, ...intakeFields } = sketch
  return sketchIntake(
    id,
    inThread('t', { authorship: createAuthorship(object), ...intakeFields, message: { sender, ...message } }),
  )
}

function sketchEdit(id: string, text: string, sketch: IntakeSketch = {}, object = 'note') {
  const parts = [{ kind: 'text', mime: 'text/plain', content: text } as const]
  return sketchMessage(
    id,
    { ...sketch, message: { kind: 'edit', in_reply_to: object, parts, ...sketch.message } },
    object,
  )
}

function createBlob(text: string) {
  const bytes = new TextEncoder().encode(text)
  return { digest: createHash('sha256').update(bytes).digest('hex'), bytes }
}

function createFilePart({ digest }: { readonly digest: string }) {
  return { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } } as const
}

function withdrawPost(store: Store, object = 'note'): Promise<void> {
  return store.withdraw('a2a', [{ kind: 'forget', ...createAuthorship(object) }])
}

function describeEdits(openStore: OpenStore): void {
  test(
    'an edit of a waiting message gives its agent the newest text once, without another turn',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchMessage('m1', { flags: ['odd'] }), 'c')
      const edit = sketchEdit('e1', 'better', { target: { answerTo: 'e1' }, flags: ['hidden_text'] })
      expect(await store.admit(edit, 'c')).toMatchObject({ outcome: 'accepted' })
      await store.admit(sketchEdit('e2', 'best', { target: { answerTo: 'e2' } }), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ message, revision: 2, attempt: 1, target: { answerTo: 'e2' } })
      expect(turn.content).toMatchObject({ id: 'm1', thread_source: 't', raw: { id: 'e2' } })
      expect(turn.content.kind).toBeUndefined()
      expect(turn.flags).toEqual(['odd', 'hidden_text', 'edited'])
      expect(listTexts(turn)).toEqual(['best'])
      await store.commit(turn, sketchAnswer(turn, 'done'))
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.findMessage('e1')).toMatchObject({ state: 'ignored', flags: ['hidden_text', 'edit_applied'] })
      const { message: next } = await store.admit(sketchMessage('m2', {}, 'other'), 'c')
      const history = await store.readHistory({ thread: turn.thread, beforeMessage: next, head: 9, tail: 9 })
      expect(history.map(entry => entry.parts[0])).toMatchObject([{ content: 'best' }, { content: 'done' }])
    }),
  )
  test(
    'an edit of a running message interrupts its run, and the turn repeats with the new text',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchMessage('m1'), 'c')
      const staleTurn = await leaseOnlyTurn(store)
      const notices: unknown[] = []
      store.listen(`message:${message}`, notice => notices.push(notice))
      await store.admit(sketchEdit('e1', 'better'), 'c')
      expect(notices).toEqual([{ kind: 'edited', token: staleTurn.token }])
      expect((await store.count()).messages).toMatchObject({ received: 1, working: 0, ignored: 1 })
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ message, attempt: 1, crashes: 0, revision: 1 })
      expect(listTexts(turn)).toEqual(['better'])
      await expect(store.commit(staleTurn, sketchAnswer(staleTurn, 'late', ['x']))).rejects.toThrow(LeaseLost)
      await expect(store.renew(staleTurn, 9)).rejects.toThrow(LeaseLost)
      await store.commit(turn, sketchAnswer(turn, 'in time', ['x']))
      expect(await store.listDeliveries({ limit: 9 })).toHaveLength(1)
    }),
  )
  test(
    'an edit of an answered message is a new message, whose text a later edit replaces',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchMessage('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'done'))
      await store.admit(sketchEdit('e1', 'better'), 'c')
      await store.admit(sketchEdit('e2', 'best'), 'c')
      const edit = await leaseOnlyTurn(store)
      expect(edit.content).toMatchObject({ id: 'e1', kind: 'edit', in_reply_to: 'note' })
      expect(listTexts(edit)).toEqual(['best'])
      await store.commit(edit, sayNothing())
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'an edit removes the former text from the conversation, the records and the visible bytes',
    withStore(openStore, async ({ store }) => {
      const [oldBlob, newBlob] = [createBlob('old'), createBlob('fresh')]
      const first = sketchMessage('m1', { blobs: [oldBlob], message: { parts: [createFilePart(oldBlob)] } })
      const { message } = await store.admit(first, 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'done'))
      await store.admit(sketchEdit('e1', 'better'), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      await store.admit(sketchMessage('by others', {}, 'other'), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      await store.admit(
        sketchEdit('e2', 'best', { blobs: [newBlob], message: { parts: [createFilePart(newBlob)] } }),
        'c',
      )
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      const { message: next } = await store.admit(sketchMessage('m2', {}, 'next'), 'c')
      const history = await store.readHistory({ thread: turn.thread, beforeMessage: next, head: 9, tail: 9 })
      expect(history.map(({ nativeId, parts }) => [nativeId, parts[0]])).toMatchObject([
        ['m1', createFilePart(newBlob)],
        [expect.anything(), { content: 'done' }],
        ['by others', { content: 'words of by others' }],
      ])
      expect([await store.findBlob(oldBlob.digest), await store.findBlob(newBlob.digest)]).toEqual([
        undefined,
        expect.anything(),
      ])
      for (const id of ['m1', 'e1']) expect((await store.findMessage(id))?.message.raw).toMatchObject({ id: 'e2' })
      expect((await store.findMessage('e1'))?.message.parts).toEqual([])
      expect(await store.listChanges([message])).toMatchObject([{ seq: message, how: 'edited' }])
      // A replay reads the message as it arrived.
      expect(new TextDecoder().decode((await store.findArrival(message))?.raw)).toContain('"m1"')
    }),
  )
  test(
    'a message keeps its first bytes for replays if its edit precedes its answer',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchMessage('m1'), 'c')
      await store.admit(sketchEdit('e1', 'better'), 'c')
      expect((await leaseOnlyTurn(store)).content.raw).toMatchObject({ id: 'e1' })
      expect(new TextDecoder().decode((await store.findArrival(message))?.raw)).toContain('"m1"')
      await withdrawPost(store)
      expect((await store.findArrival(message))?.raw).toBeUndefined()
      expect((await store.findMessage('m1'))?.message.raw).toBeUndefined()
    }),
  )
  test(
    'nobody can edit another author’s text, and an edit that the agent does not get changes nothing',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchMessage('m1'), 'c')
      await store.admit({ ...sketchEdit('forged', 'evil'), authorship: { author: 'mallory', object: 'note' } }, 'c')
      await store.admit(sketchEdit('kept', 'to everybody', { disposition: 'keep' }), 'c')
      await store.admit({ ...sketchEdit('other agent', 'elsewhere'), agent: 'help' }, 'c')
      const turn = (await leaseTurns(store)).find(({ content }) => content.id === 'm1')
      expect(turn && listTexts(turn)).toEqual(['words of m1'])
    }),
  )
  test(
    'a flood of edits interrupts a limited number of runs, and the last edit follows the answer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchMessage('m1'), 'c')
      const runs: Turn[] = []
      for (let index = 0; index < 50; index += 1) {
        runs.push(...(await leaseTurns(store)))
        await store.admit(sketchEdit(`e${index}`, `words ${index}`), 'c')
      }
      expect(runs.map(listTexts)).toEqual([
        ['words of m1'],
        ...Array.from({ length: maxAborts }, (_, index) => [`words ${index}`]),
      ])
      const lastRun = runs.at(-1)
      if (lastRun) await store.commit(lastRun, sketchAnswer(lastRun, 'at last'))
      const edit = await leaseOnlyTurn(store)
      expect([edit.content.kind, listTexts(edit)]).toEqual(['edit', ['words 49']])
      await store.commit(edit, sayNothing())
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'the store deletes bytes that only the old text named',
    withStore(openStore, async ({ store }) => {
      const [oldBlob, newBlob] = [createBlob('old'), createBlob('new')]
      await store.admit(sketchMessage('m1', { blobs: [oldBlob], message: { parts: [createFilePart(oldBlob)] } }), 'c')
      await store.admit(sketchEdit('e1', '', { blobs: [newBlob], message: { parts: [createFilePart(newBlob)] } }), 'c')
      expect([await store.findBlob(oldBlob.digest), await store.findBlob(newBlob.digest)]).toMatchObject([
        undefined,
        newBlob,
      ])
      await withdrawPost(store)
      expect(await store.findBlob(newBlob.digest)).toBeUndefined()
    }),
  )
  test(
    'files of an answer to the old text stay',
    withStore(openStore, async ({ store }) => {
      const [oldBlob, picture] = [createBlob('old'), createBlob('picture')]
      await store.admit(sketchMessage('m1', { blobs: [oldBlob], message: { parts: [createFilePart(oldBlob)] } }), 'c')
      const turn = await leaseOnlyTurn(store)
      const response = { ...sketchResponse(turn, '', 'working'), parts: [createFilePart(picture)] }
      await store.storeInterimAnswer(turn, { response, blobs: [picture], deliveries: [] })
      await store.admit(sketchEdit('e1', 'new'), 'c')
      expect(await store.findBlob(oldBlob.digest)).toBeUndefined()
      expect(await store.findBlob(picture.digest)).toMatchObject(picture)
    }),
  )
}

const lane = { mode: 'merge' } as const

async function mergeThree(store: Store): Promise<Turn> {
  for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchMessage(id, { queueMode: lane }, id), 'c')
  return leaseOnlyTurn(store)
}

function describeMergedEdits(openStore: OpenStore): void {
  test(
    'an edit of one message in a merged turn brings all its messages again',
    withStore(openStore, async ({ store }) => {
      const staleTurn = await mergeThree(store)
      await store.admit(sketchEdit('e1', 'better', { queueMode: lane }, 'm1'), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(listTexts(turn)).toEqual(['better', 'words of m2', 'words of m3'])
      expect(turn).toMatchObject({ message: staleTurn.message, merged: staleTurn.merged, revision: 1 })
      await expect(store.commit(staleTurn, sayNothing())).rejects.toThrow(LeaseLost)
      await store.commit(turn, sayNothing())
      expect((await store.count()).messages).toMatchObject({ ignored: 4, working: 0, received: 0 })
    }),
  )
  test.each([
    ['in the middle', 'm2', [['words of m1'], ['secret'], ['words of m3']]],
    ['at the beginning', 'm1', [['secret'], ['words of m2'], ['words of m3']]],
  ])(
    'a message %s of a merged turn gets a separate answer when an edit narrows its audience',
    async (_where, object, isAnswered) => {
      await withStore(openStore, async ({ store }) => {
        await mergeThree(store)
        await store.admit(sketchEdit('e2', 'secret', { queueMode: lane, audience: 'direct' }, object), 'c')
        const textsByTurn: (readonly string[])[] = []
        for (let count = 0; count < 3; count += 1) {
          const turn = await leaseOnlyTurn(store)
          textsByTurn.push(listTexts(turn))
          await store.commit(turn, sayNothing())
        }
        expect(textsByTurn).toEqual(isAnswered)
        expect((await store.count()).messages).toMatchObject({ ignored: 4, working: 0, received: 0 })
      })()
    },
  )
  test.each([
    ['first', 'm1', ['words of m2', 'words of m3']],
    ['last', 'm3', ['words of m1', 'words of m2']],
  ])(
    'after a withdrawal of the %s message of a merged turn, the others get their answer',
    async (_which, object, remainingWords) => {
      await withStore(openStore, async ({ store }) => {
        const staleTurn = await mergeThree(store)
        await withdrawPost(store, object)
        const turn = await leaseOnlyTurn(store)
        expect(listTexts(turn)).toEqual(remainingWords)
        await expect(store.commit(staleTurn, sketchAnswer(staleTurn, 'late'))).rejects.toThrow(LeaseLost)
        await store.commit(turn, sketchAnswer(turn, 'in time'))
        expect((await store.count()).messages).toMatchObject({ failed: 1, answered: 2, working: 0, received: 0 })
        expect(await store.findMessage(object)).toMatchObject({ state: 'failed', flags: ['deleted'], response: null })
      })()
    },
  )
}

function describeDeletes(openStore: OpenStore): void {
  test(
    'an agent never gets a waiting message or its edits after its withdrawal',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchMessage('m1'), 'c')
      await store.admit(sketchEdit('e1', 'better'), 'c')
      await store.admit(sketchMessage('m2', {}, 'other'), 'c')
      await withdrawPost(store)
      expect(messageIdsOf(await leaseTurns(store))).toEqual(['m2'])
      expect(JSON.stringify([await store.findMessage('m1'), await store.findMessage('e1')])).not.toContain('better')
    }),
  )
}
