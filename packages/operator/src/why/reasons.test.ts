import { Rejection } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { WhyFacts } from './facts.ts'
import { toWhyAgent } from './facts.ts'
import { parseWhyQuery } from './query.ts'
import { reasonOf } from './reasons.ts'

const now = Date.parse('2026-03-04T12:00:00Z')
const minute = 60_000

type Turn = NonNullable<WhyFacts['turn']>
type Delivery = WhyFacts['deliveries'][number]

const endedTurn: Turn = {
  state: 'answered',
  attempt: 1,
  crashes: 0,
  isWaiting: false,
  endedAt: now - minute,
  attempts: [],
}
const openTurn: Turn = { state: 'received', attempt: 0, crashes: 0, isWaiting: false, attempts: [] }
const sentDelivery: Delivery = {
  number: 7,
  message: 3,
  to: 'alice@alice.test',
  state: 'sent',
  attempts: 1,
  queuedAt: now - minute,
  endedAt: now - minute + 1_000,
  isLeased: false,
  isAnswer: true,
}

function createFacts({
  message,
  ...otherFacts
}: Partial<Omit<WhyFacts, 'message'>> & { message?: Partial<WhyFacts['message']> }): WhyFacts {
  return {
    now,
    deliveries: [],
    requirements: [],
    downtimes: [],
    agent: { use: './agent.ts', deadline: '60s', receives: ['message'] },
    ...otherFacts,
    message: {
      number: 3,
      id: 'm3',
      agent: 'echo',
      recipient: '@echo@agents.test',
      channel: 'email',
      sender: '@alice@alice.test',
      isVerified: true,
      kind: 'message',
      receivedAt: now - 2 * minute,
      flags: [],
      duplicates: 0,
      correlationId: 'c3',
      isTask: false,
      ...message,
    },
  }
}

const failedTurn = (error: string, overrides: Partial<Turn> = {}): Turn => ({
  ...endedTurn,
  state: 'failed',
  error,
  ...overrides,
})

describe('reasonOf()', () => {
  test.each<[code: string, sentence: string, Parameters<typeof createFacts>[0]]>([
    ['answered', 'Answered at 11:59:01 UTC to alice@alice.test', { turn: endedTurn, deliveries: [sentDelivery] }],
    [
      'answered',
      'Answered at 11:59:01 UTC to alice@alice.test and 1 other recipient',
      { turn: endedTurn, deliveries: [sentDelivery, { ...sentDelivery, number: 8, to: 'bob@bob.test' }] },
    ],
    [
      'answered',
      'Answered with a refusal of the agent at 11:59:00 UTC in the task that its peer called',
      { message: { isTask: true }, turn: endedTurn, answer: { at: now - minute, status: 'rejected' } },
    ],
    [
      'answer_taken_back',
      'Answered at 11:59:00 UTC, and the agent took the answer back at 11:59:30 UTC',
      { turn: endedTurn, answer: { at: now - minute, status: 'completed', retractedAt: now - minute / 2 } },
    ],
    ['canceled', 'Not answered: its task was canceled at 11:59:00 UTC', { turn: failedTurn('canceled') }],
    [
      'interrupted',
      'Not answered: interrupted by a newer message at 11:59:00 UTC, as agents.echo.queue "interrupt" asks',
      { turn: { ...endedTurn, state: 'ignored', error: 'interrupted by a newer message' } },
    ],
    [
      'agent_crashes',
      'Failed at 11:59:00 UTC: the process of the gateway ended 2 times in the middle of it, at last while it ran alone; so it is not tried again',
      { turn: failedTurn('gave up after 2 crashes', { attempt: 3, crashes: 2 }) },
    ],
    [
      'agent_removed',
      'Failed at 11:59:00 UTC: the configuration no longer has the agent "echo"',
      { turn: failedTurn('there is no such agent any more'), agent: undefined },
    ],
    [
      'answer_unstorable',
      'Failed at 11:59:00 UTC: the agent gave an answer that cannot be stored, such as one that is not JSON',
      { turn: failedTurn('the answer cannot be stored') },
    ],
    [
      'answer_invalid',
      'Failed at 11:59:00 UTC: agent "echo" gave an answer that is not valid ("parts.0.url" is missing)',
      { turn: failedTurn('Cannot read webhook reply: "parts.0.url" is missing') },
    ],
    [
      'backend_failed',
      'Failed at 11:59:00 UTC: the webhook of agent "echo" at https://hook.test/in failed (The webhook answered 404 at https://hook.test/in; expected 200 or 204)',
      {
        turn: failedTurn('The webhook answered 404 at https://hook.test/in; expected 200 or 204'),
        agent: { use: 'webhook', url: 'https://hook.test/in', deadline: '60s', receives: [] },
      },
    ],
    [
      'agent_said_failed',
      'Failed at 11:59:00 UTC: the agent answered with the status "failed"',
      { turn: { ...endedTurn, state: 'failed' } },
    ],
    [
      'webhook_down',
      'Failed at 11:59:00 UTC: the webhook of agent "echo" at https://hook.test/in could not be reached (no answer in time), given up after 12 tries',
      {
        turn: failedTurn('Cannot fetch: no answer in time', {
          attempt: 12,
          attempts: [{ attempt: 12, leased_at: 1, ended_at: 2, outcome: 'unavailable' }],
        }),
        agent: { use: 'webhook', url: 'https://hook.test/in', deadline: '60s', receives: [] },
      },
    ],
    [
      'gateway_gone',
      'Not answered yet: the gateway that worked on it (host:1) is gone; its lease ran out at 11:59:00 UTC and the next free worker takes it up',
      { turn: { ...openTurn, state: 'working', leaseOwner: 'host:1', dueAt: now - minute } },
    ],
    [
      'working',
      'Not answered yet: the agent is working on it, 2 minutes after it came at 11:58:00 UTC, in try 2 because a gateway ended in the middle of it',
      { turn: { ...openTurn, state: 'working', leaseOwner: 'host:1', dueAt: now + minute, attempt: 2, crashes: 2 } },
    ],
    [
      'waiting_for_agent',
      'Not answered yet: the agent waits for another agent that it asked, 2 minutes after it came at 11:58:00 UTC',
      {
        turn: { ...openTurn, state: 'working', leaseOwner: 'host:1', dueAt: now + minute, isWaiting: true, crashes: 1 },
      },
    ],
    [
      'gathering',
      'Not answered yet: it waits until 12:00:02 UTC for further messages of the sender, as agents.echo.queue asks',
      { turn: { ...openTurn, readyAt: now + 2_000, dueAt: now + 2_000 } },
    ],
    [
      'waiting_for_worker',
      'Not answered yet: it has been due since 11:59:00 UTC (1 minute) and no worker has taken it',
      { turn: { ...openTurn, dueAt: now - minute } },
    ],
    [
      'queued',
      'Not answered yet: it has waited since 11:58:00 UTC behind #2 of the same conversation, which is tried again at 12:01:00 UTC (connection failed: ECONNREFUSED)',
      {
        turn: {
          ...openTurn,
          ahead: {
            message: 2,
            isLeased: false,
            dueAt: now + minute,
            error: 'Cannot fetch: connection failed: ECONNREFUSED',
          },
        },
      },
    ],
    [
      'delivery_given_up',
      'The answer was not delivered (one of 2 deliveries): https://a.test/inbox could not be reached (the answer is 503), given up after 12 tries, at 2026-03-02 12:00:00 UTC',
      {
        turn: endedTurn,
        deliveries: [
          sentDelivery,
          {
            ...sentDelivery,
            number: 9,
            to: 'https://a.test/inbox',
            state: 'dead',
            attempts: 12,
            endedAt: now - 48 * 60 * minute,
            error: 'given up after 12 tries: Cannot deliver: the answer is 503',
          },
        ],
      },
    ],
    [
      'being_sent',
      'The answer is not delivered yet, since 11:59:00 UTC: it is being sent to alice@alice.test',
      {
        turn: endedTurn,
        deliveries: [{ ...sentDelivery, state: 'queued', endedAt: undefined, isLeased: true, dueAt: now }],
      },
    ],
    [
      'requirement_declined',
      'Asked for consent and not continued: it was declined at 11:59:30 UTC',
      {
        turn: endedTurn,
        requirements: [
          {
            id: 'r1',
            kind: 'consent_required',
            status: 'declined',
            isForOperator: false,
            address: '@alice@alice.test',
            issuedAt: now - minute,
            expiresAt: now + minute,
            resolvedAt: now - minute / 2,
          },
        ],
      },
    ],
    [
      'waiting_for_operator',
      'Waits for consent of an operator since 11:59:00 UTC, until 12:01:00 UTC',
      {
        turn: endedTurn,
        requirements: [
          {
            id: 'r1',
            kind: 'consent_required',
            status: 'open',
            isForOperator: true,
            address: 'operator',
            issuedAt: now - minute,
            expiresAt: now + minute,
          },
        ],
      },
    ],
    [
      'gateway_was_down',
      'Answered late, at 11:59:01 UTC to alice@alice.test: its peer sent it while the gateway was down from 09:00:00 UTC to 11:00:00 UTC (2 hours)',
      {
        message: { sentAt: now - 120 * minute },
        turn: endedTurn,
        deliveries: [sentDelivery],
        downtimes: [{ from: now - 180 * minute, to: now - 60 * minute }],
      },
    ],
    ['posted', 'Posted unasked by the agent at 11:58:00 UTC', { message: { flags: ['post'] }, turn: endedTurn }],
    [
      'event',
      'No answer is due: it says that an account has moved, at 11:58:00 UTC',
      { message: { flags: ['moved'] } },
    ],
    [
      'kept',
      'No answer: it came at 11:58:00 UTC and its channel gives such a message (delete) to no agent',
      { message: { kind: 'delete' } },
    ],
    [
      'hop_limit',
      'Not answered: agents have passed it on more often than limits.loop.max_hops allows, at 11:58:00 UTC',
      { message: { flags: ['from_agent', 'hop_limit'] } },
    ],
  ])('%s: %s', (code, sentence, overrides) => {
    expect(reasonOf(createFacts(overrides))).toMatchObject({ code, sentence })
  })

  const consent: WhyFacts['requirements'][number] = {
    id: 'r1',
    kind: 'consent_required',
    status: 'open',
    isForOperator: false,
    address: '@alice@alice.test',
    issuedAt: now - minute,
    expiresAt: now + minute,
  }
  const attempt = { attempt: 1, leased_at: now - 2 * minute, ended_at: now - minute }
  const dead: Delivery = { ...sentDelivery, state: 'dead', error: 'words of tomorrow' }

  test.each<[code: string, Parameters<typeof createFacts>[0]]>([
    [
      'agent_removed',
      {
        turn: failedTurn('words of tomorrow', {
          attempts: [{ ...attempt, outcome: 'failed', reason: 'agent_removed' }],
        }),
      },
    ],
    [
      'answer_invalid',
      {
        turn: failedTurn('words of tomorrow', {
          attempts: [{ ...attempt, outcome: 'failed', reason: 'answer_invalid' }],
        }),
      },
    ],
    ['deadline', { turn: failedTurn('words of tomorrow', { attempts: [{ ...attempt, outcome: 'timed_out' }] }) }],
    [
      'not_received',
      {
        turn: { ...endedTurn, state: 'ignored', attempts: [{ ...attempt, outcome: 'silent', reason: 'not_received' }] },
      },
    ],
    ['suppressed', { turn: endedTurn, deliveries: [{ ...dead, reason: 'suppressed' }] }],
    ['delivery_given_up', { turn: endedTurn, deliveries: [{ ...dead, reason: 'given_up' }] }],
    ['channel_closed', { turn: endedTurn, deliveries: [{ ...dead, reason: 'channel_closed' }] }],
    ['recipient_blocks', { turn: endedTurn, deliveries: [{ ...dead, reason: 'blocked' }] }],
    [
      'delivery_refused',
      { turn: endedTurn, deliveries: [{ ...dead, error: 'dropped by the operator', reason: 'refused' }] },
    ],
    [
      'breaker_open',
      {
        turn: endedTurn,
        deliveries: [{ ...dead, state: 'later', endedAt: undefined, dueAt: now + minute, reason: 'host_left_alone' }],
      },
    ],
  ])('returns %s from the recorded reason, whatever the error’s message', (code, overrides) => {
    expect(reasonOf(createFacts(overrides))).toMatchObject({ code })
  })

  test('keeps the reason of an older message after a change of the configuration', () => {
    const agent = { use: './agent.ts', deadline: '5s', receives: ['follow'] }
    const turn = (last: Partial<Turn['attempts'][number]>): Turn => {
      return { ...endedTurn, state: 'ignored', attempts: [{ ...attempt, outcome: 'silent', ...last }] }
    }
    expect(reasonOf(createFacts({ agent, turn: turn({ reason: 'said_nothing' }) })).code).toBe('agent_silent')
    expect(reasonOf(createFacts({ agent, turn: turn({}) })).code).toBe('not_received')
    const slow = failedTurn('the agent took too long', {
      attempts: [{ ...attempt, outcome: 'timed_out', deadline_ms: 60_000 }],
    })
    expect(reasonOf(createFacts({ agent, turn: slow })).sentence).toContain('(60s)')
  })

  const later: Delivery = { ...sentDelivery, state: 'later', endedAt: undefined, dueAt: now + minute, error: 'busy' }

  test.each<[what: string, code: string, Parameters<typeof createFacts>[0]]>([
    [
      'a dismissed dead letter counts as a failed delivery',
      'delivery_refused',
      { turn: endedTurn, deliveries: [{ ...sentDelivery, state: 'dismissed', error: 'gone' }] },
    ],
    [
      'a postponed delivery counts before a ready one',
      'delivery_waiting',
      { turn: endedTurn, deliveries: [{ ...sentDelivery, state: 'queued', endedAt: undefined, dueAt: now }, later] },
    ],
    [
      'a handshake is no answer',
      'answered',
      { turn: endedTurn, deliveries: [sentDelivery, { ...later, isAnswer: false }] },
    ],
    [
      'an undelivered question does not count as waiting',
      'delivery_waiting',
      { turn: endedTurn, deliveries: [later], requirements: [consent] },
    ],
    ['a failure counts before its delivery', 'agent_threw', { turn: failedTurn('x'), deliveries: [later] }],
    [
      'a later grant counts as an answer',
      'answered',
      {
        turn: endedTurn,
        requirements: [
          { ...consent, status: 'expired' },
          { ...consent, status: 'granted' },
        ],
      },
    ],
    [
      'a turn whose time to wait is over waits for a worker',
      'waiting_for_worker',
      { turn: { ...openTurn, readyAt: now - 1, dueAt: now - 1 } },
    ],
    [
      'a downtime before the message does not count',
      'answered',
      {
        message: { sentAt: now - 10 * minute },
        turn: endedTurn,
        deliveries: [sentDelivery],
        downtimes: [{ from: now - 10.5 * minute, to: now - 10 * minute }],
      },
    ],
  ])('%s: %s', (_, code, overrides) => {
    expect(reasonOf(createFacts(overrides)).code).toBe(code)
  })

  test('quotes a plain error without its class', () => {
    const attempts = [
      { attempt: 1, leased_at: 1, ended_at: 2, outcome: 'failed' as const, error: { name: 'Error', message: 'x' } },
    ]
    expect(reasonOf(createFacts({ turn: failedTurn('x', { attempts }) })).sentence).toMatch(/threw an error \(x\)$/)
  })

  test('ignores downtime before a message came, or after its answer', () => {
    const downtimes = [
      { from: now - 60 * minute, to: now - 30 * minute },
      { from: now - 30_000, to: now - 20_000 },
    ]
    expect(reasonOf(createFacts({ turn: endedTurn, deliveries: [sentDelivery], downtimes })).code).toBe('answered')
  })

  test('does not quote parts of URLs that may be secret', () => {
    const error = 'Cannot fetch https://user:word@a.test/b?token=t#f (or http://[bad)'
    expect(reasonOf(createFacts({ turn: failedTurn(error) })).sentence).toContain(
      '(Cannot fetch https://a.test/b (or an address))',
    )
  })

  test('truncates foreign text and keeps it on one line', () => {
    const { sentence } = reasonOf(createFacts({ turn: failedTurn(`one\ntwo\r\n${'x'.repeat(10_000)}`) }))
    expect(sentence).toContain('(one two xxx')
    expect(sentence.length).toBeLessThan(500)
  })
})

describe('parseWhyQuery()', () => {
  const agents = { domain: 'agents.test', has: (name: string) => name === 'echo' }

  test.each<[string, object]>([
    ['#12', { ids: [], message: 12 }],
    ['12', { message: 12, delivery: 12, ids: ['12', '<12>'] }],
    ['d12', { delivery: 12, message: undefined }],
    ['delivery #12', { delivery: 12 }],
    ['echo', { agent: 'echo' }],
    ['@Echo+tag@Agents.test', { ids: [], agent: 'echo', sender: '@Echo+tag@Agents.test' }],
    ['mailto:a@b.test', { ids: [], sender: '@a@b.test' }],
    ['<a@b.test>', { ids: ['<a@b.test>', 'a@b.test'], sender: '@a@b.test' }],
  ])('%s', (query, expectedQuery) => {
    expect(parseWhyQuery(query, agents)).toMatchObject(expectedQuery)
  })

  test('refuses empty or oversized queries', () => {
    for (const query of ['', '  ', 'x'.repeat(2_049)]) expect(() => parseWhyQuery(query, agents)).toThrow(Rejection)
  })
})

describe('toWhyAgent()', () => {
  test('omits secret members', () => {
    const config = {
      use: 'webhook',
      url: 'https://user:word@hook.test/in?token=t#f',
      secret: 'whsec_x',
      api_key: 'k',
      deadline: '60s',
    }
    expect(toWhyAgent(config)).toEqual({
      use: 'webhook',
      url: 'https://hook.test/in',
      deadline: '60s',
      receives: ['message'],
    })
  })
})
