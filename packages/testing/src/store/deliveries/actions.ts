// Tests that a store performs the actions of agents: posts, edits and deletions.
import { LeaseLost } from '@postern/message'
import { describe, expect, test } from 'vitest'
import {
  answerWith,
  joinTexts,
  ofEcho,
  sketchDeletion,
  sketchEdit,
  sketchPost,
  sketchReaction,
  wordsIn,
} from '../setup/action-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  leaseTurns,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function actContract(openStore: OpenStore): void {
  describe('actions', () => {
    describePosts(openStore)
    describePostThreads(openStore)
    describeEdits(openStore)
    describeDeletions(openStore)
  })
}

function describePosts(openStore: OpenStore): void {
  test(
    'a post commits with the answer of its turn, and goes to its recipients',
    withStore(openStore, async ({ store, now }) => {
      await answerWith(store, 'm1', 'done', {
        recipients: ['x'],
        acts: [sketchPost('p1', 'news', { recipients: ['y', 'z'] })],
      })
      const response = await store.findResponse('p1')
      expect(response).toMatchObject({ ...ofEcho, target: null, rendering: { of: 'p1' }, message: { id: 'post:p1' } })
      expect(response?.response).toMatchObject({ id: 'p1', parts: [{ content: 'news' }], status: 'completed' })
      const deliveries = await leaseDeliveries(store)
      const partialAnswers = deliveries.map(({ to, response, correlationId }) => [
        to,
        joinTexts(response?.parts ?? []),
        correlationId,
      ])
      expect(partialAnswers).toEqual([
        ['x', 'done', 'c'],
        ['y', 'news', 'c'],
        ['z', 'news', 'c'],
      ])
      expect(deliveries[1]).toMatchObject({ queuedAt: now(), rendering: { of: 'p1' }, agent: 'echo', via: 'a2a' })
    }),
  )
  test(
    'the store keeps no post of a turn that lost its lease',
    withStore(openStore, async ({ store, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const lostTurn = await leaseOnlyTurn(store)
      advance(leaseMs)
      const turnAgain = await leaseOnlyTurn(store)
      const acts = [sketchPost('p1', 'news', { recipients: ['y'] })]
      await expect(store.commit(lostTurn, sketchAnswer(lostTurn, 'done', [], { acts }))).rejects.toThrow(LeaseLost)
      expect(await store.findResponse('p1')).toBeUndefined()
      expect(await leaseDeliveries(store)).toEqual([])
      await store.commit(turnAgain, { deliveries: [], acts })
      expect(await store.findMessage('m1')).toMatchObject({ state: 'ignored' })
      expect((await leaseOnlyDelivery(store)).response?.id).toBe('p1')
    }),
  )
  test(
    'the store shows a synthetic message and its answer to the operator, and to no agent',
    withStore(openStore, async ({ store }) => {
      await store.storeActions([sketchPost('p1', 'news', { isListed: true, recipients: ['y'] })], 'c of p1')
      expect(await leaseTurns(store)).toEqual([])
      const [summary] = await store.listMessages({ limit: 9 })
      expect(summary).toMatchObject({ id: 'post:p1', agent: 'echo', state: 'answered', correlation_id: 'c of p1' })
      const record = await store.findMessage('post:p1')
      expect(record).toMatchObject({ state: 'answered', flags: ['post'], response: { id: 'p1' } })
      expect(record?.deliveries).toMatchObject([{ to: 'y', state: 'queued' }])
      expect((await store.count()).messages).toMatchObject({ answered: 1, ignored: 0, received: 0 })
      expect(await store.countListed(ofEcho)).toBe(1)
      expect(await store.listResponses({ ...ofEcho, isListed: true, limit: 9 })).toMatchObject([
        { response: { id: 'p1' } },
      ])
    }),
  )
  test(
    'act() does all or nothing',
    withStore(openStore, async ({ store }) => {
      const invalidReaction = sketchReaction(99_999, 'x')
      await expect(store.storeActions([sketchPost('p1', 'news'), invalidReaction], 'c')).rejects.toThrow('99999')
      expect(await store.findResponse('p1')).toBeUndefined()
      expect((await store.count()).messages.answered).toBe(0)
      await store.storeActions([sketchPost('p1', 'one'), sketchPost('p2', 'two')], 'c')
      expect(await store.listResponses({ ...ofEcho, limit: 9 })).toHaveLength(2)
    }),
  )
  test(
    'a post cannot replace an earlier post of the same id, but other agents may use that id',
    withStore(openStore, async ({ store }) => {
      await store.storeActions([sketchPost('p1', 'first')], 'c')
      await answerWith(store, 'm1', 'done', { acts: [sketchPost('p1', 'second'), sketchPost('p2', 'third')] })
      await store.storeActions([sketchPost('p2', 'of another agent', { agent: 'help' })], 'c')
      expect(await store.findResponse('p1')).toMatchObject({ response: { parts: [{ content: 'first' }] } })
      expect(await store.findResponse('p2')).toMatchObject({
        agent: 'echo',
        response: { parts: [{ content: 'third' }] },
      })
    }),
  )
}

function describePostThreads(openStore: OpenStore): void {
  test(
    'a reply to any known id of a post joins its thread, after the post',
    withStore(openStore, async ({ store }) => {
      await store.storeActions([sketchPost('p1', 'news', { aliases: ['https://agents.test/p1'], isListed: true })], 'c')
      const references = ['unknown', 'https://agents.test/p1']
      await store.admit(sketchIntake('reply', inThread('elsewhere', { thread: { references } })), 'c')
      await store.admit(sketchIntake('other', inThread('elsewhere')), 'c')
      const [reply, otherTurn] = await leaseTurns(store)
      expect(reply?.content).toMatchObject({ id: 'reply', thread_source: 'p1' })
      const history = await store.readHistory({
        thread: reply?.thread ?? 0,
        beforeMessage: reply?.message ?? 0,
        head: 0,
        tail: 9,
      })
      expect(history).toMatchObject([{ role: 'assistant', nativeId: 'p1', author: { address: '@echo@agents.test' } }])
      expect(otherTurn?.content.thread_source).toBe('elsewhere')
    }),
  )
  test(
    'a post for a few has its own scope, which no message of another scope joins',
    withStore(openStore, async ({ store }) => {
      await store.storeActions(
        [sketchPost('p1', 'news', { aliases: ['https://agents.test/p1'], scope: 'post:p1' })],
        'c',
      )
      const thread = { references: ['https://agents.test/p1'], scope: 'public' }
      await store.admit(sketchIntake('reply', inThread('elsewhere', { thread })), 'c')
      expect((await leaseOnlyTurn(store)).content.thread_source).toBe('elsewhere')
    }),
  )
}

function describeEdits(openStore: OpenStore): void {
  test(
    'an edit replaces the text of an answer, which keeps its id and position',
    withStore(openStore, async ({ store, advance }) => {
      const turn = await answerWith(store, 'm1', 'wrong', { isListed: true, rendering: { pieces: 2 } })
      await answerWith(store, 'm2', 'later')
      const firstResponse = await store.findResponse('answer to m1')
      expect(firstResponse?.editedAt).toBeUndefined()
      advance(5_000)
      const fixedAnswer = { ...sketchResponse(turn, 'right'), subject: 'fixed' }
      await store.storeActions([sketchEdit(fixedAnswer, ['x'])], 'c')
      const response = await store.findResponse('answer to m1')
      expect(response).toMatchObject({ response: fixedAnswer, rendering: { pieces: 2 }, target: { answerTo: 'm1' } })
      expect(Date.parse(response?.editedAt ?? '')).toBeGreaterThan(Date.parse(response?.response.created_at ?? ''))
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'right', 'words of m2', 'later'])
      expect(await leaseOnlyDelivery(store)).toMatchObject({ to: 'x', response: fixedAnswer, rendering: { pieces: 2 } })
      expect(await store.countListed(ofEcho)).toBe(1)
      expect((await store.findMessage('m1'))?.response).toEqual(fixedAnswer)
    }),
  )
  test(
    'a waiting delivery sends the new text, and the edit follows in order',
    withStore(openStore, async ({ store }) => {
      const turn = await answerWith(store, 'm1', 'wrong', { recipients: ['x'] })
      await store.storeActions([sketchEdit(sketchResponse(turn, 'right'), ['x'])], 'c')
      const create = await leaseOnlyDelivery(store)
      expect(create.response?.parts).toMatchObject([{ content: 'right' }])
      await store.settle(create, { state: 'sent' })
      expect((await leaseOnlyDelivery(store)).target).toEqual({ inbox: 'x' })
    }),
  )
  test(
    'an edit of an unknown answer does nothing',
    withStore(openStore, async ({ store }) => {
      const turn = await answerWith(store, 'm1', 'words')
      const unknown = { ...sketchResponse(turn, 'new'), id: 'unknown' }
      await store.storeActions([sketchEdit(unknown, ['x']), sketchDeletion('unknown', ['x'])], 'c')
      expect(await leaseDeliveries(store)).toEqual([])
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'words'])
    }),
  )
}

function describeDeletions(openStore: OpenStore): void {
  test(
    'a withdrawn post keeps its id, loses its content, and disappears from lists and histories',
    withStore(openStore, async ({ store, now }) => {
      const turn = await answerWith(store, 'm1', 'regrets', { isListed: true })
      await answerWith(store, 'm2', 'stays', { isListed: true })
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      const response = await store.findResponse('answer to m1')
      expect(response).toMatchObject({
        response: { id: 'answer to m1', parts: [] },
        retractedAt: new Date(now()).toISOString(),
      })
      expect(await wordsIn(store, turn.thread)).toEqual(['words of m1', 'words of m2', 'stays'])
      expect(await store.countListed(ofEcho)).toBe(1)
      const listedResponses = await store.listResponses({ ...ofEcho, isListed: true, limit: 9 })
      expect(listedResponses.map(({ response }) => response.id)).toEqual(['answer to m2'])
      expect(JSON.stringify(await store.findMessage('m1'))).not.toContain('regrets')
      expect(await leaseOnlyDelivery(store)).toMatchObject({ to: 'x', response: { id: 'answer to m1', parts: [] } })
    }),
  )
  test(
    'open deliveries of a withdrawn post end, under any worker, and the deletion follows in order',
    withStore(openStore, async ({ store }) => {
      await answerWith(store, 'm1', 'regrets', { recipients: ['x', 'y'] })
      const [leasedDelivery] = await leaseDeliveries(store, 1)
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      if (leasedDelivery) await expect(store.settle(leasedDelivery, { state: 'sent' })).rejects.toThrow(LeaseLost)
      expect(await leaseDeliveries(store)).toMatchObject([{ to: 'x', response: { parts: [] } }])
      const dead = await store.listDeliveries({ limit: 9, state: 'dead' })
      expect(dead.map(({ to }) => to).sort()).toEqual(['x', 'y'])
      expect(dead[0]?.last_error).toBe('the agent has taken it back')
      expect((await store.count()).deliveries).toMatchObject({ dead: 2, queued: 1 })
    }),
  )
  test(
    'the operator cannot retry those deliveries, but can retry the deletion',
    withStore(openStore, async ({ store, advance }) => {
      await answerWith(store, 'm1', 'regrets', { recipients: ['x'] })
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      const [deadDelivery] = await store.listDeliveries({ limit: 9, state: 'dead' })
      expect(await store.retryDelivery(deadDelivery?.id ?? '')).toBe(false)
      advance(1)
      const deletion = await leaseOnlyDelivery(store)
      await store.settle(deletion, { state: 'dead', reason: 'refused', error: 'HTTP 410' })
      expect(await store.retryDelivery(deadDelivery?.id ?? '')).toBe(false)
      expect(await store.retryDelivery(deletion.id)).toBe(true)
      expect((await leaseOnlyDelivery(store)).id).toBe(deletion.id)
    }),
  )
  test(
    'a withdrawal also removes the content from the records of deliveries',
    withStore(openStore, async ({ store }) => {
      await answerWith(store, 'm1', 'regrets', { recipients: ['x', 'y'] })
      const [first, second] = await leaseDeliveries(store)
      if (!first || !second) throw new Error('expected two deliveries')
      await store.settle(first, { state: 'sent', wire: { content: 'regrets' } })
      await store.settle(second, {
        state: 'later',
        dueAt: 9e12,
        reason: 'unavailable',
        error: 'busy',
        wire: { content: 'regrets' },
      })
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      const deletion = await leaseOnlyDelivery(store)
      await store.settle(deletion, { state: 'sent', wire: { type: 'Delete' } })
      const wires = (await store.listDeliveries({ limit: 9 })).map(({ state, wire }) => [state, wire])
      expect(wires.toSorted()).toEqual([
        ['dead', null],
        ['sent', null],
        ['sent', { type: 'Delete' }],
      ])
    }),
  )
  test(
    'a withdrawal is final: an agent can neither repeat it nor edit the post',
    withStore(openStore, async ({ store, now, advance }) => {
      const turn = await answerWith(store, 'm1', 'regrets', { isListed: true })
      const answer = sketchResponse(turn, 'again')
      const acts = [
        sketchDeletion('answer to m1', ['x']),
        sketchEdit(answer, ['x']),
        sketchDeletion('answer to m1', ['x']),
      ]
      await store.storeActions(acts, 'c')
      const retractedAt = new Date(now()).toISOString()
      advance(1_000)
      await store.storeActions([sketchEdit(answer, ['y']), sketchDeletion('answer to m1', ['y'])], 'c')
      expect(await store.findResponse('answer to m1')).toMatchObject({ response: { parts: [] }, retractedAt })
      expect(await store.countListed(ofEcho)).toBe(0)
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['x'])
      expect((await store.count()).deliveries).toMatchObject({ dead: 0, queued: 1 })
    }),
  )
}
