import type { BackgroundEntry, Desk, Entry, Turn } from '@postern/core'
import { isoTime, withdrawalMemoryMs } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function backgroundContract(open: OpenDesk): void {
  describe('background', () => {
    describeOrder(open)
    describeKnown(open)
    describeNames(open)
    describeTakenBack(open)
  })
}

const bob = 'https://peer.test/bob'

function sketchBackground(id: string, rest: Partial<BackgroundEntry> = {}): BackgroundEntry {
  return {
    nativeId: id,
    author: { address: '@bob@peer.test', display_name: 'Bob' },
    parts: [{ kind: 'text', mime: 'text/plain', content: `words of ${id}` }],
    at: isoTime(Date.UTC(2025, 0, 1)),
    principal: bob,
    ...rest,
  }
}

/** What an agent is given to read with this turn. */
function recall(desk: Desk, { thread, message }: Pick<Turn, 'thread' | 'message'>): Promise<readonly Entry[]> {
  return desk.readHistory({ thread, before: message, head: 3, tail: 99 })
}

async function recallIds(desk: Desk, turn: Pick<Turn, 'thread' | 'message'>): Promise<readonly (string | undefined)[]> {
  return (await recall(desk, turn)).map(({ nativeId }) => nativeId)
}

async function leaseNew(desk: Desk, id: string, threadId = 't'): Promise<Turn> {
  await desk.admit(sketchIntake(id, inThread(threadId)), 'c')
  return leaseOnlyTurn(desk)
}

function describeOrder(open: OpenDesk): void {
  test(
    'it stands before the message, in the order given, whole',
    withDesk(open, async ({ desk }) => {
      const turn = await leaseNew(desk, 'm1')
      await desk.addBackground(
        turn,
        ['p1', 'p2', 'p3'].map(id => sketchBackground(id)),
      )
      const history = await recall(desk, turn)
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['p1', 'p2', 'p3'])
      const { principal: _, ...said } = sketchBackground('p1')
      expect(history[0]).toMatchObject({ ...said, role: 'user' })
      expect(history[0]?.author).toEqual(said.author)
    }),
  )
  test(
    'it stands behind what was said before, answers among it, and before what waits',
    withDesk(open, async ({ desk }) => {
      const first = await leaseNew(desk, 'm1')
      await desk.admit(sketchIntake('m2', inThread('t')), 'c')
      const { message: third } = await desk.admit(sketchIntake('m3', inThread('t')), 'c')
      await desk.commit(first, sketchAnswer(first, 'hello'))
      const second = await leaseOnlyTurn(desk)
      await desk.addBackground(second, [sketchBackground('p1'), sketchBackground('p2')])
      const before = ['m1', 'answer to m1', 'p1', 'p2']
      expect(await recallIds(desk, second)).toEqual(before)
      expect(await recallIds(desk, { thread: second.thread, message: third })).toEqual([...before, 'm2'])
      expect(await recallIds(desk, first)).toEqual([])
    }),
  )
  test(
    'both ends of a long thread are read in this order too',
    withDesk(open, async ({ desk }) => {
      const turn = await leaseNew(desk, 'm1')
      const ids = Array.from({ length: 30 }, (_, at) => `p${at}`)
      await desk.addBackground(
        turn,
        ids.map(id => sketchBackground(id)),
      )
      const { thread, message: before } = turn
      const ends = await desk.readHistory({ thread, before, head: 3, tail: 4 })
      expect(ends.map(({ nativeId }) => nativeId)).toEqual([...ids.slice(0, 3), ...ids.slice(-4)])
    }),
  )
}

function describeKnown(open: OpenDesk): void {
  test(
    'what is there already is passed over: background, messages, answers, by whichever of their ids',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t', { aliases: ['object of m1'] })), 'c')
      const first = await leaseOnlyTurn(desk)
      await desk.addBackground(first, [sketchBackground('p1')])
      await desk.commit(first, sketchAnswer(first, 'hello', [], { aliases: ['object of the answer'] }))
      const turn = await leaseNew(desk, 'm2')
      const known = ['p1', 'm1', 'object of m1', 'object of the answer', 'm2']
      for (const id of known) expect(await desk.knows(turn, id), id).toBe(true)
      expect(await desk.knows(turn, 'p2')).toBe(false)
      await desk.addBackground(
        turn,
        [...known, 'p2', 'p2'].map(id => sketchBackground(id)),
      )
      expect(await recallIds(desk, turn)).toEqual(['p1', 'm1', 'answer to m1', 'p2'])
    }),
  )
  test(
    'what is known in another thread is new in this one',
    withDesk(open, async ({ desk }) => {
      const first = await leaseNew(desk, 'm1', 't')
      await desk.addBackground(first, [sketchBackground('p1')])
      await desk.commit(first, sayNothing())
      const turn = await leaseNew(desk, 'm2', 'u')
      expect(await desk.knows(turn, 'p1')).toBe(false)
      expect(await desk.knows(turn, 'm1')).toBe(false)
      await desk.addBackground(turn, [sketchBackground('p1')])
      expect(await recallIds(desk, turn)).toEqual(['p1'])
      expect(await desk.knows(turn, 'p1')).toBe(true)
    }),
  )
  test(
    'after a crash it is there once, and the turn that is taken up again may bring it once more',
    withDesk(open, async under => {
      if (!under.reopen) return
      const turn = await leaseNew(under.desk, 'm1')
      await under.desk.addBackground(turn, [sketchBackground('p1'), sketchBackground('p2', { isQuoted: true })])
      const desk = await under.reopen()
      under.advance(leaseMs)
      try {
        const again = await leaseOnlyTurn(desk)
        await desk.addBackground(
          again,
          ['p1', 'p2', 'p3'].map(id => sketchBackground(id)),
        )
        expect(await recallIds(desk, again)).toEqual(['p1', 'p2', 'p3'])
      } finally {
        await desk.close()
      }
    }),
  )
  test(
    'a turn whose lease is lost, or that is over, adds nothing: what an agent was shown stays as it was',
    withDesk(open, async ({ desk, advance }) => {
      const lost = await leaseNew(desk, 'm1')
      advance(leaseMs)
      const turn = await leaseOnlyTurn(desk)
      await expect(desk.addBackground(lost, [sketchBackground('p1')])).rejects.toMatchObject({ name: 'LeaseLost' })
      await desk.commit(turn, sketchAnswer(turn, 'hello'))
      await expect(desk.addBackground(turn, [sketchBackground('p1')])).rejects.toMatchObject({ name: 'LeaseLost' })
      expect(await recallIds(desk, turn)).toEqual([])
    }),
  )
}

function describeNames(open: OpenDesk): void {
  const replyTo = (id: string, agent = 'echo') =>
    sketchIntake(`reply to ${id}`, { agent, ...inThread('elsewhere', { thread: { references: [id] } }) })
  test(
    'a later reply to it comes to its thread; a reply to what was only quoted does not',
    withDesk(open, async ({ desk }) => {
      const turn = await leaseNew(desk, 'm1')
      await desk.addBackground(turn, [sketchBackground('p1'), sketchBackground('q1', { isQuoted: true })])
      await desk.commit(turn, sayNothing())
      await desk.admit(replyTo('p1'), 'c')
      await desk.admit(replyTo('q1'), 'c')
      const threads = (await leaseTurns(desk)).map(({ thread, content }) => [content.id, thread === turn.thread])
      expect(Object.fromEntries(threads)).toEqual({ 'reply to p1': true, 'reply to q1': false })
    }),
  )
  test(
    'it takes no name from another thread, and gives none to another agent',
    withDesk(open, async ({ desk }) => {
      const first = await leaseNew(desk, 'm1', 't')
      await desk.commit(first, sayNothing())
      const second = await leaseNew(desk, 'm2', 'u')
      await desk.addBackground(second, [sketchBackground('m1'), sketchBackground('p1')])
      await desk.commit(second, sayNothing())
      await desk.admit(replyTo('m1'), 'c')
      expect((await leaseOnlyTurn(desk)).thread).toBe(first.thread)
      await desk.admit(replyTo('p1', 'help'), 'c')
      expect((await leaseOnlyTurn(desk)).thread).not.toBe(second.thread)
    }),
  )
}

function describeTakenBack(open: OpenDesk): void {
  const forget = (desk: Desk, author = bob, object = 'p1') => desk.withdraw('a2a', [{ kind: 'forget', author, object }])
  test(
    'its author takes it back from every thread, and it does not come again',
    withDesk(open, async ({ desk, advance }) => {
      const first = await leaseNew(desk, 'm1', 't')
      await desk.addBackground(first, [sketchBackground('p1'), sketchBackground('p2')])
      const second = await leaseNew(desk, 'm2', 'u')
      await desk.addBackground(second, [sketchBackground('p1', { isQuoted: true })])
      await forget(desk, 'mallory')
      expect(await recallIds(desk, first)).toEqual(['p1', 'p2'])
      await forget(desk)
      advance(withdrawalMemoryMs)
      const late = await desk.leaseTurns({ holder: 'worker', limit: 9, leaseMs })
      for (const turn of late) await desk.addBackground(turn, [sketchBackground('p1')])
      expect(late).toHaveLength(2)
      expect(await recallIds(desk, first)).toEqual(['p2'])
      expect(await recallIds(desk, second)).toEqual([])
    }),
  )
  test(
    'what was taken back before it came is passed over',
    withDesk(open, async ({ desk }) => {
      await forget(desk)
      const turn = await leaseNew(desk, 'm1')
      await desk.addBackground(turn, [sketchBackground('p1'), sketchBackground('p2')])
      expect(await recallIds(desk, turn)).toEqual(['p2'])
    }),
  )
  test(
    'an author that is gone leaves none, however much there was; that of others stays',
    withDesk(open, async ({ desk }) => {
      const turn = await leaseNew(desk, 'm1')
      const many = Array.from({ length: 450 }, (_, at) => sketchBackground(`p${at}`))
      await desk.addBackground(turn, [...many, sketchBackground('other', { principal: 'https://peer.test/eve' })])
      await desk.withdraw('a2a', [{ kind: 'forget_peer', peer: bob }])
      expect(await recallIds(desk, turn)).toEqual(['other'])
    }),
  )
}
