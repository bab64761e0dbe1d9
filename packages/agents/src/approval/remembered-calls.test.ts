import type { NormalizedMessage } from '@postern/message'
import { isoTime, subjectOf } from '@postern/message'
import { rememberedRecordKey } from '@postern/pipeline'
import { createMemoryRecords } from '@postern/transcript'
import { describe, expect, test } from 'vitest'
import { aliceSender, testContext, testMessage, testSystem } from '../../test/gateway.ts'
import { openApprovals } from './approvals.ts'
import type { CallRule } from './port.ts'

const start = Date.UTC(2026, 0, 1)
const rule: CallRule = { approve: 'sender', remember: 'always', remember_days: 30 }
const byAlice = testMessage('please', { sender: aliceSender })
const subject = subjectOf(aliceSender)

interface Kept {
  readonly policy?: 'direct' | 'forbidden'
  readonly thread?: number
  readonly approver?: 'sender' | 'operator'
}

async function openTest({ policy = 'direct', thread, approver = 'sender' }: Kept = {}) {
  let time = start
  const records = createMemoryRecords()
  const system = { ...testSystem, now: () => time }
  const approvals = openApprovals({ name: 'shop', records, system })
  const scope = thread === undefined ? 'always' : 'conversation'
  const recordKey = rememberedRecordKey({ agent: 'shop', tool: 'refund', approver, subject, thread })
  const decisionMembers = {
    id: recordKey.key,
    requirement: 'd1',
    tool: 'refund',
    approver,
    policy,
    scope,
    thread: thread ?? 7,
    subject,
  }
  const times = { given_at: isoTime(start), expires_at: isoTime(start + 30 * 86_400_000) }
  await records.put(recordKey, { ...decisionMembers, ...times, address: '@alice@peer.test', resolver: 'link' })
  const runs: unknown[] = []
  const run = async (args: unknown) => {
    runs.push(args)
    return { result: { done: args } }
  }
  /** Runs an attempt at a turn, which makes its calls one after the other. */
  function tryTurn({ message = byAlice, number = 1, thread: at = 7, flags = [] as readonly string[] } = {}) {
    const context = { ...testContext({ messageNumber: number, thread: at, flags }), message }
    const find = (args: unknown, overrides: Partial<CallRule> = {}) =>
      approvals.findRemembered({ id: 'c', name: 'refund', args, rule: { ...rule, ...overrides } }, context)
    return {
      find,
      async call(args: unknown) {
        const ruled = await find(args)
        return ruled && approvals.settle(ruled, run)
      },
    }
  }
  const wait = (ms: number) => {
    time += ms
  }
  return { approvals, records, runs, run, tryTurn, wait }
}

describe('calls with a decision from an earlier conversation', () => {
  test('run at once, each once, with the author of the decision on record (E-39)', async () => {
    const { tryTurn, runs, records } = await openTest()
    const { call } = tryTurn()
    expect(await call({ order: '17' })).toEqual({ result: { done: { order: '17' } } })
    expect(await call({ order: '17' })).toEqual({ result: { done: { order: '17' } } })
    expect(runs).toHaveLength(2)
    const pending = await records.list('pending-action', 'agent:shop')
    expect(pending.map(({ value }) => value)).toMatchObject(
      [1, 2].map(() => ({
        status: 'accepted',
        resolver: 'remembered d1 (link)',
        apply_input: { args: { order: '17' } },
        metadata: { requirement: 'd1' },
      })),
    )
  })

  test('do not run twice in a repeated turn, which knows their results (E-39)', async () => {
    const { tryTurn, runs } = await openTest()
    const first = tryTurn()
    await first.call({ order: '17' })
    await first.call({ order: '18' })
    const second = tryTurn()
    expect(await second.call({ order: '17' })).toEqual({ result: { done: { order: '17' } } })
    expect(await second.call({ order: '18' })).toEqual({ result: { done: { order: '18' } } })
    expect(await second.call({ order: '19' })).toEqual({ result: { done: { order: '19' } } })
    expect(runs).toEqual([{ order: '17' }, { order: '18' }, { order: '19' }])
    expect(await tryTurn({ number: 2 }).call({ order: '17' })).toEqual({ result: { done: { order: '17' } } })
    expect(runs).toHaveLength(4)
  })

  test('do not run again after an interruption, since their result is unknown (E-39)', async () => {
    const { tryTurn, approvals, run, runs } = await openTest()
    const ruled = await tryTurn().find({ order: '17' })
    if (!ruled) throw new Error('nothing is remembered')
    void approvals.settle(ruled, () => new Promise(() => {}))
    await new Promise(resolve => setImmediate(resolve))
    const again = await tryTurn().find({ order: '17' })
    expect(again && (await approvals.settle(again, run))).toEqual({
      error: { message: 'It was begun and broken off. Whether it took effect is not known.' },
    })
    expect(runs).toEqual([])
  })

  test('need a new question if a repeated turn makes another call', async () => {
    const { tryTurn, runs } = await openTest()
    await tryTurn().call({ order: '17' })
    expect(await tryTurn().find({ order: '99' })).toBeUndefined()
    expect(runs).toEqual([{ order: '17' }])
  })

  test('never run after a refusal, without a question', async () => {
    const { tryTurn, runs } = await openTest({ policy: 'forbidden' })
    expect(await tryTurn().call({ order: '17' })).toEqual({
      error: {
        message: 'It was not allowed: it was refused before, for all such calls, and nobody is asked again.',
      },
    })
    expect(runs).toEqual([])
  })

  const otherSenders: readonly (readonly [string, NormalizedMessage['sender']])[] = [
    ['another', { ...aliceSender, identities: [{ ...first(aliceSender), subject: 'https://peer.test/users/bob' }] }],
    ['nobody who is proven', { ...aliceSender, verified: false }],
    [
      'whom a domain vouches for as a whole',
      { ...aliceSender, identities: [{ ...first(aliceSender), assurance: 'domain' }] },
    ],
  ]
  test.each(otherSenders)('need a question if they are of %s', async (_, sender) => {
    const { tryTurn } = await openTest()
    expect(await tryTurn({ message: testMessage('please', { sender }) }).find({})).toBeUndefined()
  })

  test('need a question from a list, elsewhere, too late, or when the configuration ignores such decisions', async () => {
    const { tryTurn, wait } = await openTest()
    expect(await tryTurn({ flags: ['by_list'] }).find({})).toBeUndefined()
    const here = await openTest({ thread: 7 })
    expect(await here.tryTurn().find({})).toBeDefined()
    expect(await here.tryTurn({ thread: 8 }).find({})).toBeUndefined()
    for (const overrides of [{ remember: 'none' }, { remember: 'conversation' }, { approve: 'operator' }] as const) {
      expect(await tryTurn().find({}, overrides)).toBeUndefined()
    }
    expect(await tryTurn().find({})).toBeDefined()
    wait(30 * 86_400_000)
    expect(await tryTurn().find({})).toBeUndefined()
  })
})

function first({ identities = [] }: NormalizedMessage['sender']) {
  const [identity] = identities
  if (!identity) throw new Error('the message has no proven identity')
  return identity
}
