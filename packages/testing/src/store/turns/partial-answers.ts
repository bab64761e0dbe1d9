// Tests that a store delivers partial answers once, and keeps the files of answers.
import { createHash } from 'node:crypto'
import type { NormalizedResponse, Part } from '@postern/message'
import { LeaseLost } from '@postern/message'
import type { Answer, Blob, Store, Turn } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { answerWith, ofEcho, sketchDeletion, sketchEdit, sketchPost, wordsIn } from '../setup/action-sketches.ts'
import { interruptMode, sketchQueued } from '../setup/queue-mode-sketch.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function partialAnswerContract(openStore: OpenStore): void {
  describe('interim text', () => {
    describePartialAnswer(openStore)
    describePartialAnswerTwice(openStore)
    describeWithdrawal(openStore)
  })
  describe('files of answers', () => {
    describeFiles(openStore)
  })
}

function toBlob(text: string): Blob {
  const bytes = new TextEncoder().encode(text)
  return { digest: createHash('sha256').update(bytes).digest('hex'), bytes, mime: 'image/png' }
}

function toFilePart({ digest }: Blob): Part {
  return { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }
}

function withFiles(response: NormalizedResponse, ...blobs: readonly Blob[]): NormalizedResponse {
  return { ...response, parts: blobs.map(toFilePart) }
}

function describeFiles(openStore: OpenStore): void {
  const [pictureBlob, otherBlob, messageBlob] = [toBlob('picture'), toBlob('other'), toBlob('theirs')]
  test(
    'bytes of an answer stay while a message or an answer names them',
    withStore(openStore, async ({ store }) => {
      await store.admit(
        sketchIntake('m1', { blobs: [messageBlob], message: { parts: [toFilePart(messageBlob)] } }),
        'c',
      )
      const turn = await leaseOnlyTurn(store)
      const partialAnswer = withFiles(sketchResponse(turn, ''), pictureBlob)
      await store.commit(turn, { response: partialAnswer, blobs: [pictureBlob], deliveries: [] })
      expect(await store.findBlob(pictureBlob.digest)).toMatchObject({ mime: 'image/png' })
      const editedAnswer = { ...sketchEdit(withFiles(partialAnswer, otherBlob), []), blobs: [otherBlob] }
      await store.storeActions([editedAnswer], 'c')
      expect(await store.findBlob(otherBlob.digest)).toBeDefined()
      expect(await store.findBlob(pictureBlob.digest)).toBeUndefined()
      await store.storeActions([sketchPost('p1', 'news', { blobs: [otherBlob], parts: [toFilePart(otherBlob)] })], 'c')
      await store.storeActions([sketchDeletion('answer to m1')], 'c')
      expect(await store.findBlob(otherBlob.digest), 'the post has it, too').toBeDefined()
      await store.storeActions([sketchDeletion('p1')], 'c')
      expect(await store.findBlob(otherBlob.digest)).toBeUndefined()
      expect(await store.findBlob(messageBlob.digest), 'it is not the answer’s').toBeDefined()
    }),
  )
  test(
    'bytes of an answer disappear with the answered message',
    withStore(openStore, async ({ store }) => {
      const authorship = { author: 'ada', object: 'note' }
      await store.admit(sketchIntake('m1', { authorship }), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, {
        response: withFiles(sketchResponse(turn, ''), pictureBlob),
        blobs: [pictureBlob],
        deliveries: [],
      })
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await store.findBlob(pictureBlob.digest)).toBeUndefined()
    }),
  )
}

function partialText(turn: Turn, text: string, recipients: readonly string[] = [], overrides: Partial<Answer> = {}) {
  const response = sketchResponse(turn, text, 'working')
  return { ...sketchAnswer(turn, text, recipients, overrides), response }
}

function describePartialAnswer(openStore: OpenStore): void {
  test(
    'the final answer replaces its turn’s interim text in one response',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(await store.findAnswer(turn.message)).toBeUndefined()
      await store.storeInterimAnswer(
        turn,
        partialText(turn, 'looking', ['x'], { rendering: { at: 'x' }, isListed: true, aliases: ['alias'] }),
      )
      expect(await store.findAnswer(turn.message)).toMatchObject({
        response: { id: 'answer to m1', status: 'working', parts: [{ content: 'looking' }] },
        rendering: { at: 'x' },
        message: { id: 'm1' },
      })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'working' })
      expect(await leaseTurns(store), 'the turn goes on').toEqual([])
      const firstDelivery = await leaseOnlyDelivery(store)
      expect(firstDelivery.response?.parts).toMatchObject([{ content: 'looking' }])
      await store.storeInterimAnswer(turn, { ...partialText(turn, 'still looking', ['x']), isRevision: true })
      await store.commit(turn, sketchAnswer(turn, 'found', ['x'], { isRevision: true }))
      expect(await store.listResponses({ ...ofEcho, limit: 9 })).toMatchObject([
        {
          response: { id: 'answer to m1', status: 'completed', parts: [{ content: 'found' }] },
          rendering: { at: 'x' },
        },
      ])
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'found'])
      expect(await store.countListed(ofEcho)).toBe(1)
      expect(await store.findMessage('m1')).toMatchObject({ state: 'answered', deliveries: [{}, {}, {}] })
      await store.settle(firstDelivery, { state: 'sent' })
      expect((await leaseOnlyDelivery(store)).response?.parts).toMatchObject([{ content: 'found' }])
    }),
  )
  test(
    'a reply to interim text joins its thread',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.storeInterimAnswer(turn, partialText(turn, 'looking', [], { aliases: ['alias'] }))
      await store.admit(sketchIntake('m2', inThread('u', { thread: { references: ['alias'] } })), 'c')
      await store.commit(turn, sketchAnswer(turn, 'found', [], { isRevision: true }))
      expect((await leaseOnlyTurn(store)).content.thread_source).toBe('t')
    }),
  )
  test(
    'the store delivers a final answer in full if it never had the interim text',
    withStore(openStore, async ({ store }) => {
      const turn = await answerWith(store, 'm1', 'found', { isRevision: true, recipients: ['x'] })
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'found'])
      expect(await store.findResponse('answer to m1')).toMatchObject({ response: { parts: [{ content: 'found' }] } })
      expect((await leaseOnlyDelivery(store)).to).toBe('x')
    }),
  )
  test(
    'an agent without a final answer keeps its partial answer',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.storeInterimAnswer(turn, partialText(turn, 'looking'))
      await store.commit(turn, sayNothing())
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'looking'])
    }),
  )
}

function describePartialAnswerTwice(openStore: OpenStore): void {
  test(
    'the next worker of a turn finds and revises its interim text, and the first one can add none',
    withStore(openStore, async ({ store, advance }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const lostTurn = await leaseOnlyTurn(store)
      await store.storeInterimAnswer(lostTurn, partialText(lostTurn, 'looking'))
      advance(leaseMs)
      const secondTurn = await leaseOnlyTurn(store)
      await expect(
        store.storeInterimAnswer(lostTurn, { ...partialText(lostTurn, 'late'), isRevision: true }),
      ).rejects.toThrow(LeaseLost)
      expect(await store.findAnswer(secondTurn.message)).toMatchObject({
        response: { parts: [{ content: 'looking' }] },
      })
      await store.commit(secondTurn, sketchAnswer(secondTurn, 'found', [], { isRevision: true }))
      expect(await wordsIn(store, secondTurn.thread)).toEqual(['words of m1', 'found'])
      for (const turn of [lostTurn, secondTurn]) {
        await expect(
          store.storeInterimAnswer(turn, { ...partialText(turn, 'late'), isRevision: true }),
        ).rejects.toThrow(LeaseLost)
      }
      expect(await wordsIn(store, secondTurn.thread)).toEqual(['words of m1', 'found'])
    }),
  )
  test(
    'interim text that the agent withdraws during the turn stays withdrawn',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.storeInterimAnswer(turn, partialText(turn, 'looking', ['x']))
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      await store.storeInterimAnswer(turn, { ...partialText(turn, 'still looking', ['x']), isRevision: true })
      await store.commit(turn, sketchAnswer(turn, 'found', ['x'], { isRevision: true }))
      expect(await store.findResponse('answer to m1')).toMatchObject({ response: { parts: [] } })
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1'])
      expect((await store.listDeliveries({ limit: 9 })).map(({ state }) => state)).toEqual(['queued', 'dead'])
      expect(await store.findMessage('m1')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'the withdrawal of a message deletes its interim text',
    withStore(openStore, async ({ store }) => {
      const authorship = { author: 'ada', object: 'note' }
      await store.admit(sketchIntake('m1', { authorship }), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.storeInterimAnswer(turn, partialText(turn, 'looking', ['x']))
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await expect(
        store.storeInterimAnswer(turn, { ...partialText(turn, 'late', ['x']), isRevision: true }),
      ).rejects.toThrow(LeaseLost)
      expect(await leaseDeliveries(store)).toEqual([])
    }),
  )
}

/** The events that end a turn without an answer. */
const turnEndings: readonly (readonly [string, (store: Store, turn: Turn) => Promise<unknown>])[] = [
  [
    'a newer message of its sender',
    store => store.admit(sketchQueued('m2', interruptMode, { authorship: ofAda(2) }), 'c'),
  ],
  ['its author', store => store.withdraw('a2a', [{ kind: 'forget', ...ofAda(1) }])],
  ['its author, twice,', store => store.withdraw('a2a', Array(2).fill({ kind: 'forget', ...ofAda(1) }))],
  ['a block of its author', store => store.admit(sketchBlock(ofAda(1).author), 'c')],
]

const ofAda = (noteNumber: number) => ({ author: 'https://peer.test/ada', object: `note ${noteNumber}` })

/** Sketches a message by which its author blocks the agent. */
function sketchBlock(peer: string) {
  const effects = [{ kind: 'relate', relation: 'blocked_by', peer, target: {} } as const]
  return sketchIntake('block', { disposition: 'keep', effects })
}

/** Begins a turn that stores a partial answer and then revises it. */
async function beginWithInterimText(store: Store, sketch: IntakeSketch = {}) {
  await store.admit(sketchQueued('m1', interruptMode, { authorship: ofAda(1), ...sketch }), 'c')
  const turn = await leaseOnlyTurn(store)
  const withdrawal = (name: string) => ({ deliveries: [{ to: 'x', target: { withdraws: name } }] })
  await store.storeInterimAnswer(turn, partialText(turn, 'looking', ['x'], { withdrawal: withdrawal('looking') }))
  const interim = partialText(turn, 'still looking', [], { withdrawal: withdrawal('both'), isRevision: true })
  await store.storeInterimAnswer(turn, interim)
  await store.settle(await leaseOnlyDelivery(store), { state: 'sent' })
  return turn
}

async function expectWithdrawn(store: Store, { thread }: Turn): Promise<void> {
  expect(await leaseDeliveries(store)).toMatchObject([{ to: 'x', target: { withdraws: 'both' } }])
  expect(await store.findResponse('answer to m1')).toMatchObject({ response: { parts: [] } })
  expect(await wordsIn(store, thread)).not.toContain('still looking')
}

function describeWithdrawal(openStore: OpenStore): void {
  test.each(turnEndings)(
    '%s that ends a turn withdraws its interim text, in the same transaction',
    async (_who, endTurn) => {
      await withStore(openStore, async ({ store }) => {
        const turn = await beginWithInterimText(store)
        await endTurn(store, turn)
        await expectWithdrawn(store, turn)
      })()
    },
  )
  test.each(turnEndings)(
    '%s that ends a turn withdraws its interim text, also while nobody runs it',
    async (_who, endTurn) => {
      await withStore(openStore, async ({ store, now }) => {
        const turn = await beginWithInterimText(store)
        await store.release(turn, { dueAt: now() + 60_000, error: 'busy' })
        await endTurn(store, turn)
        await expectWithdrawn(store, turn)
      })()
    },
  )
  test.each(turnEndings)(
    '%s that ends a turn retracts interim text without a planned withdrawal',
    async (_who, endTurn) => {
      await withStore(openStore, async ({ store }) => {
        await store.admit(sketchQueued('m1', interruptMode, { authorship: ofAda(1) }), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.storeInterimAnswer(turn, partialText(turn, 'looking', ['x']))
        await endTurn(store, turn)
        expect(await store.findResponse('answer to m1')).toMatchObject({ response: { parts: [] } })
        expect(await wordsIn(store, turn.thread)).not.toContain('looking')
        expect(await leaseDeliveries(store)).toEqual([])
      })()
    },
  )
  test(
    'the cancel of a task withdraws its turn’s interim text',
    withStore(openStore, async ({ store }) => {
      const task = { owner: 'ada', id: 'one', context: 't' }
      const turn = await beginWithInterimText(store, { task })
      await store.cancelTask(task)
      await expectWithdrawn(store, turn)
    }),
  )
  test(
    'a turn that ends without a response withdraws its interim text',
    withStore(openStore, async ({ store }) => {
      const turn = await beginWithInterimText(store)
      await store.commit(turn, { ...sayNothing(), isRevision: true })
      await expectWithdrawn(store, turn)
    }),
  )
  test(
    'an answer that replaces interim text stays, whatever message follows',
    withStore(openStore, async ({ store }) => {
      const turn = await beginWithInterimText(store)
      await store.commit(turn, sketchAnswer(turn, 'found', [], { isRevision: true }))
      expect((await store.findResponse('answer to m1'))?.response).not.toHaveProperty('withdrawal')
      await store.admit(sketchQueued('m2', interruptMode), 'c')
      expect(await leaseDeliveries(store)).toEqual([])
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'found', 'words of m2'])
    }),
  )
}
