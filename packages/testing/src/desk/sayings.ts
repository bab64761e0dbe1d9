import { createHash } from 'node:crypto'
import type { Answer, Blob, NormalizedResponse, Part, Turn } from '@postern/core'
import { LeaseLost } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { answerWith, mine, sketchDeletion, sketchEdit, sketchPost, wordsIn } from './act-sketches.ts'
import type { OpenDesk } from './under-test.ts'
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
  withDesk,
} from './under-test.ts'

export function sayingContract(open: OpenDesk): void {
  describe('what is said meanwhile', () => {
    describeSaying(open)
    describeSayingTwice(open)
  })
  describe('files of answers', () => {
    describeFiles(open)
  })
}

function toBlob(text: string): Blob {
  const bytes = new TextEncoder().encode(text)
  return { digest: createHash('sha256').update(bytes).digest('hex'), bytes, mime: 'image/png' }
}

function toFile({ digest }: Blob): Part {
  return { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }
}

function withFiles(response: NormalizedResponse, ...blobs: readonly Blob[]): NormalizedResponse {
  return { ...response, parts: blobs.map(toFile) }
}

function describeFiles(open: OpenDesk): void {
  const [picture, other, theirs] = [toBlob('picture'), toBlob('other'), toBlob('theirs')]
  test(
    'bytes of an answer are there as long as something names them: the message, its answer, another message',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', { blobs: [theirs], message: { parts: [toFile(theirs)] } }), 'c')
      const turn = await leaseOnlyTurn(desk)
      const given = withFiles(sketchResponse(turn, ''), picture)
      await desk.commit(turn, { response: given, blobs: [picture], deliveries: [] })
      expect(await desk.findBlob(picture.digest)).toMatchObject({ mime: 'image/png' })
      const edited = { ...sketchEdit(withFiles(given, other), []), blobs: [other] }
      await desk.act([edited], 'c')
      expect(await desk.findBlob(other.digest)).toBeDefined()
      expect(await desk.findBlob(picture.digest)).toBeUndefined()
      await desk.act([sketchPost('p1', 'news', { blobs: [other], parts: [toFile(other)] })], 'c')
      await desk.act([sketchDeletion('answer to m1')], 'c')
      expect(await desk.findBlob(other.digest), 'the post has it, too').toBeDefined()
      await desk.act([sketchDeletion('p1')], 'c')
      expect(await desk.findBlob(other.digest)).toBeUndefined()
      expect(await desk.findBlob(theirs.digest), 'it is not the answer’s').toBeDefined()
    }),
  )
  test(
    'bytes of an answer go with the message it answers',
    withDesk(open, async ({ desk }) => {
      const authorship = { author: 'ada', object: 'note' }
      await desk.admit(sketchIntake('m1', { authorship }), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, {
        response: withFiles(sketchResponse(turn, ''), picture),
        blobs: [picture],
        deliveries: [],
      })
      await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await desk.findBlob(picture.digest)).toBeUndefined()
    }),
  )
}

function said(turn: Turn, text: string, places: readonly string[] = [], rest: Partial<Answer> = {}) {
  const response = sketchResponse(turn, text, 'working')
  return { ...sketchAnswer(turn, text, places, rest), response }
}

function describeSaying(open: OpenDesk): void {
  test(
    'the final answer takes the place of what its turn said meanwhile: there is one response',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(desk)
      expect(await desk.findAnswer(turn.message)).toBeUndefined()
      await desk.say(turn, said(turn, 'looking', ['x'], { rendering: { at: 'x' }, isListed: true, aliases: ['alias'] }))
      expect(await desk.findAnswer(turn.message)).toMatchObject({
        response: { id: 'answer to m1', status: 'working', parts: [{ content: 'looking' }] },
        rendering: { at: 'x' },
        message: { id: 'm1' },
      })
      expect(await desk.findMessage('m1')).toMatchObject({ state: 'working' })
      expect(await leaseTurns(desk), 'the turn goes on').toEqual([])
      const first = await leaseOnlyDelivery(desk)
      expect(first.response?.parts).toMatchObject([{ content: 'looking' }])
      await desk.say(turn, { ...said(turn, 'still looking', ['x']), isRevision: true })
      await desk.commit(turn, sketchAnswer(turn, 'found', ['x'], { isRevision: true }))
      expect(await desk.listResponses({ ...mine, limit: 9 })).toMatchObject([
        {
          response: { id: 'answer to m1', status: 'completed', parts: [{ content: 'found' }] },
          rendering: { at: 'x' },
        },
      ])
      expect(await wordsIn(desk, turn.thread)).toEqual(['words of m1', 'found'])
      expect(await desk.countListed(mine)).toBe(1)
      expect(await desk.findMessage('m1')).toMatchObject({ state: 'answered', deliveries: [{}, {}, {}] })
      await desk.settle(first, { state: 'sent' })
      expect((await leaseOnlyDelivery(desk)).response?.parts).toMatchObject([{ content: 'found' }])
    }),
  )
  test(
    'a reply to what was said meanwhile comes to its thread',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.say(turn, said(turn, 'looking', [], { aliases: ['alias'] }))
      await desk.admit(sketchIntake('m2', inThread('u', { thread: { references: ['alias'] } })), 'c')
      await desk.commit(turn, sketchAnswer(turn, 'found', [], { isRevision: true }))
      expect((await leaseOnlyTurn(desk)).content.thread_id).toBe('t')
    }),
  )
  test(
    'a final answer that revises what never was said is said',
    withDesk(open, async ({ desk }) => {
      const turn = await answerWith(desk, 'm1', 'found', { isRevision: true, places: ['x'] })
      expect(await wordsIn(desk, turn.thread)).toEqual(['words of m1', 'found'])
      expect(await desk.findResponse('answer to m1')).toMatchObject({ response: { parts: [{ content: 'found' }] } })
      expect((await leaseOnlyDelivery(desk)).to).toBe('x')
    }),
  )
  test(
    'who has nothing more to say leaves standing what he said',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.say(turn, said(turn, 'looking'))
      await desk.commit(turn, sayNothing())
      expect(await wordsIn(desk, turn.thread)).toEqual(['words of m1', 'looking'])
    }),
  )
}

function describeSayingTwice(open: OpenDesk): void {
  test(
    'who takes a turn up once more finds what was said in it, and revises it; the first holder says nothing any more',
    withDesk(open, async ({ desk, advance }) => {
      await desk.admit(sketchIntake('m1', inThread('t')), 'c')
      const lost = await leaseOnlyTurn(desk)
      await desk.say(lost, said(lost, 'looking'))
      advance(leaseMs)
      const held = await leaseOnlyTurn(desk)
      await expect(desk.say(lost, { ...said(lost, 'late'), isRevision: true })).rejects.toThrow(LeaseLost)
      expect(await desk.findAnswer(held.message)).toMatchObject({ response: { parts: [{ content: 'looking' }] } })
      await desk.commit(held, sketchAnswer(held, 'found', [], { isRevision: true }))
      expect(await wordsIn(desk, held.thread)).toEqual(['words of m1', 'found'])
      for (const turn of [lost, held]) {
        await expect(desk.say(turn, { ...said(turn, 'late'), isRevision: true })).rejects.toThrow(LeaseLost)
      }
      expect(await wordsIn(desk, held.thread)).toEqual(['words of m1', 'found'])
    }),
  )
  test(
    'what was taken back while its turn went on stays so, and nothing is sent of it',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.say(turn, said(turn, 'looking', ['x']))
      await desk.act([sketchDeletion('answer to m1', ['x'])], 'c')
      await desk.say(turn, { ...said(turn, 'still looking', ['x']), isRevision: true })
      await desk.commit(turn, sketchAnswer(turn, 'found', ['x'], { isRevision: true }))
      expect(await desk.findResponse('answer to m1')).toMatchObject({ response: { parts: [] } })
      expect(await wordsIn(desk, turn.thread)).toEqual(['words of m1'])
      expect((await desk.listDeliveries({ limit: 9 })).map(({ state }) => state)).toEqual(['queued', 'dead'])
      expect(await desk.findMessage('m1')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'a message taken back by its author takes with it what was being said to it',
    withDesk(open, async ({ desk }) => {
      const authorship = { author: 'ada', object: 'note' }
      await desk.admit(sketchIntake('m1', { authorship }), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.say(turn, said(turn, 'looking', ['x']))
      await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await expect(desk.say(turn, { ...said(turn, 'late', ['x']), isRevision: true })).rejects.toThrow(LeaseLost)
      expect(await leaseDeliveries(desk)).toEqual([])
    }),
  )
}
