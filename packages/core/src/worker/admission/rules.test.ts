import { describe, expect, test } from 'vitest'
import { defaultLoopLimits } from '../../message/loop-limits.ts'
import type { ChannelName } from '../../message/message.ts'
import type { Intake } from '../../ports/records/intake.ts'
import type { Store } from '../../ports/store.ts'
import type { LoopMemory } from './rules.ts'
import { createAccessRule, createLoopRule, createRequirementDecisions, findLoop } from './rules.ts'

const access = { allow: [{ issuer: 'friend.test' }] }
const rule = createAccessRule(
  agent => (agent === 'desk' ? access : undefined),
  via => via === 'calls',
)

function admit(via: ChannelName, members: Partial<Intake> = {}): Intake | undefined {
  return rule.admit?.({
    agent: 'desk',
    message: { sender: { address: '@a@b.test', auth_method: 'none', verified: false }, received_via: via },
    disposition: 'answer',
    ...members,
  } as unknown as Intake)
}

describe('createAccessRule()', () => {
  test('refuses a sender outside the list where the peer waits for an answer', () => {
    expect(() => admit('calls')).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        message: 'Cannot take message: its sender may not speak to this agent',
      }),
    )
  })

  test('elsewhere it stores the message, and no agent gets it', () => {
    expect(admit('letters', { flags: ['hidden_text'] })).toMatchObject({
      disposition: 'keep',
      flags: ['hidden_text', 'not_allowed'],
    })
  })

  test('leaves messages of those on the list, and all messages to an agent without one, as they are', () => {
    const identities = [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }]
    const friend = { message: { sender: { identities }, received_via: 'a2a' } } as unknown as Partial<Intake>
    const admitted = [admit('a2a', friend), admit('a2a', { agent: 'echo' })]
    expect(admitted.map(intake => [intake?.disposition, intake?.flags])).toEqual([
      ['answer', undefined],
      ['answer', undefined],
    ])
  })

  test('a sender without access cannot become a follower, but may end what they began', () => {
    const follow = { kind: 'relate', relation: 'follower', peer: 'p', target: {} } as const
    const block = { kind: 'relate', relation: 'blocked_by', peer: 'p', target: {} } as const
    const unfollow = { kind: 'unrelate', relation: 'follower', peer: 'p' } as const
    const deliveries = [{ to: 'inbox', target: {} }]
    expect(admit('activitypub', { disposition: 'keep', effects: [follow], deliveries })).toMatchObject({
      effects: [],
      deliveries: [],
      flags: ['not_allowed'],
    })
    expect(admit('activitypub', { disposition: 'keep', effects: [block, unfollow] })).toMatchObject({
      effects: [block, unfollow],
      flags: [],
    })
  })

  test('a sender without access gets no answer, and leaves no entry in the sender history', () => {
    const effects = [{ kind: 'relate', relation: 'correspondent', peer: 'p', target: {} }] as const
    const deliveries = [{ to: 'p', target: {} }]
    expect(admit('email', { deliveries, effects })).toMatchObject({
      effects: [],
      deliveries: [],
      flags: ['not_allowed'],
    })
    expect(admit('email', { deliveries })).toMatchObject({ deliveries: [], flags: ['not_allowed'] })
  })
})

const limits = defaultLoopLimits

/** `texts` newest first; `persons`: places where a person spoke. */
function remember(texts: readonly string[], persons: readonly number[] = []): LoopMemory {
  return {
    readSenders: most => texts.map((_, at) => !persons.includes(at)).slice(0, most),
    readTexts: most => texts.slice(0, most),
  }
}

const report = (n: number) =>
  `I am out of office until March ${n}. In urgent cases please call my colleague, ticket ${n}.`
const manyWords =
  'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon'.split(' ')
/** Each shares no triple of words with the others. */
const various = (n: number) =>
  manyWords.map((word, at) => (at % 3 === n % 3 ? `${word}${'x'.repeat(n)}` : word)).join(' ')

test('the gateway stops agents among themselves after a number of turns without a person, whatever they say', () => {
  const turns = Array.from({ length: 20 }, (_, n) => various(n + 1))
  const incoming = { isFromAgent: true, text: 'something else entirely' }
  expect(findLoop(incoming, remember(turns), limits)).toBe('no_person')
  expect(findLoop(incoming, remember(turns.slice(1)), limits)).toBe(undefined)
  expect(findLoop(incoming, remember(turns, [7]), limits)).toBe(undefined)
  expect(findLoop({ ...incoming, isFromAgent: false }, remember(turns), limits)).toBe(undefined)
})

test('the gateway stops an agent that says the same for the fourth time, whatever numbers and names it puts in', () => {
  const incoming = { isFromAgent: true, text: report(9) }
  expect(findLoop(incoming, remember([report(1), report(22), report(333)]), limits)).toBe('same_words')
  expect(findLoop(incoming, remember([report(1), report(22)]), limits)).toBe(undefined)
  expect(findLoop(incoming, remember([report(1), 'no, wait', report(22), report(333)]), limits)).toBe(undefined)
  expect(findLoop({ isFromAgent: true, text: 'pong' }, remember(['pong', 'pong', 'pong']), limits)).toBe('same_words')
})

test('echoes that grow say the same', () => {
  const echo = (text: string) => `> ${text.replaceAll('\n', '\n> ')}\n\n- From: @a@a.test\n- Proven by: http signature`
  const first = echo('hello there')
  const [second, third] = [echo(first), echo(echo(first))]
  expect(findLoop({ isFromAgent: true, text: echo(third) }, remember([third, second, first]), limits)).toBe(
    'same_words',
  )
})

test('people may repeat a short message again and again, and a longer one less often', () => {
  const person = (text: string) => ({ isFromAgent: false, text })
  expect(findLoop(person('status please'), remember(Array(9).fill('status please')), limits)).toBe(undefined)
  expect(findLoop(person(report(1)), remember(Array(5).fill(report(2))), limits)).toBe(undefined)
  expect(findLoop(person(report(1)), remember(Array(6).fill(report(2))), limits)).toBe('same_words')
  expect(findLoop(person(''), remember(Array(9).fill('')), limits)).toBe(undefined)
})

test('the rule limits only messages that take a turn of a conversation', () => {
  const { admit } = createLoopRule(limits)
  const sender = { address: '@b@b.test' }
  const intake = (more: Partial<Intake>) =>
    ({ agent: 'a', message: { kind: 'message', sender }, disposition: 'answer', ...more }) as unknown as Intake
  const limited = [
    intake({}),
    intake({ flags: ['from_agent'] }),
    intake({ flags: ['from_agent'], disposition: 'keep' }),
    intake({ flags: ['from_agent'], task: { owner: 'o', id: 't', context: 'c' } }),
    intake({ message: { kind: 'follow' } as never }),
  ].map(each => admit?.(each))
  expect(limited.map(each => [each?.loop, each?.budgets?.map(({ key, turns, flag }) => [key, turns, flag])])).toEqual([
    [limits, undefined],
    [
      limits,
      [
        ['agents', 10, 'loop_guard'],
        ['agents a @b@b.test', 60, 'loop_guard'],
      ],
    ],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, undefined],
  ])
})

const friend = { identities: [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }] }

/** A store with one requirement, of a message from `sender`. */
function openDecisions(sender: object) {
  const resolved: string[] = []
  const ended: (string | undefined)[] = []
  const store = {
    findRequirement: async () => ({ agent: 'desk', message: 1 }),
    findMessage: async () => ({ message: { sender } }),
    resolveRequirement: async ({ digest }: { digest: string }) => {
      resolved.push(digest)
      return { outcome: 'resolved' }
    },
    endOverdue: async (_: string, correlationId?: string) => void ended.push(correlationId),
  } as unknown as Store
  const decisions = createRequirementDecisions(store, () => ({ allow: [{ issuer: 'friend.test' }] }))
  const decision = { kind: 'consent_required', outcome: 'granted', resolver: { method: 'link' } } as const
  return { resolved, ended, decisions, decision }
}

test('a person who has lost access cannot decide an earlier requirement', async () => {
  const { decisions, decision, resolved } = openDecisions({})
  expect(await decisions.resolveRequirement({ ...decision, digest: 'd1' }, 'c')).toMatchObject({
    outcome: 'refused',
    reason: 'expired',
  })
  expect(resolved).toEqual([])
})

test('a person who may speak to the agent decides', async () => {
  const { decisions, decision, resolved } = openDecisions(friend)
  expect(await decisions.resolveRequirement({ ...decision, digest: 'd2' }, 'c')).toEqual({ outcome: 'resolved' })
  expect(resolved).toEqual(['d2'])
})

test('the requirement of a person who has lost access expires, and no turn tells them', async () => {
  const stranger = openDecisions({})
  await stranger.decisions.endOverdue('r', 'c')
  const known = openDecisions(friend)
  await known.decisions.endOverdue('r', 'c')
  expect([stranger.ended, known.ended]).toEqual([[undefined], ['c']])
})
