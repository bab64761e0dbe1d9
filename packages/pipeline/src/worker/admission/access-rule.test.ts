import type { ChannelName } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { Intake } from '../../ports/records/intake.ts'
import type { Store } from '../../ports/store/store.ts'
import { createAccessRule, createRequirementDecisions } from './access-rule.ts'

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
  test('refuses a sender outside the list if the peer waits for an answer', () => {
    expect(() => admit('calls')).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        message: 'Cannot take message: its sender may not speak to this agent',
      }),
    )
  })

  test('otherwise keeps the message without giving it to the agent', () => {
    expect(admit('letters', { flags: ['hidden_text'] })).toMatchObject({
      disposition: 'keep',
      flags: ['hidden_text', 'not_allowed'],
    })
  })

  test('leaves messages of listed senders, and all messages to an agent without a list, unchanged', () => {
    const identities = [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }]
    const friend = { message: { sender: { identities }, received_via: 'a2a' } } as unknown as Partial<Intake>
    const admittedIntakes = [admit('a2a', friend), admit('a2a', { agent: 'echo' })]
    expect(admittedIntakes.map(intake => [intake?.disposition, intake?.flags])).toEqual([
      ['answer', undefined],
      ['answer', undefined],
    ])
  })

  test('does not let a sender without access become a follower, but lets them end a follow', () => {
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

  test('sends a sender without access nothing, and records no correspondent', () => {
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

const friend = { identities: [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }] }

/** Opens decisions over a store with one requirement, which a message from `sender` caused. */
function openDecisions(sender: object) {
  const resolvedDigests: string[] = []
  const endedCorrelationIds: (string | undefined)[] = []
  const store = {
    findRequirement: async () => ({ agent: 'desk', message: 1 }),
    findMessage: async () => ({ message: { sender } }),
    resolveRequirement: async ({ digest }: { digest: string }) => {
      resolvedDigests.push(digest)
      return { outcome: 'resolved' }
    },
    endOverdue: async (_: string, correlationId?: string) => void endedCorrelationIds.push(correlationId),
  } as unknown as Store
  const decisions = createRequirementDecisions(store, () => ({ allow: [{ issuer: 'friend.test' }] }))
  const decision = { kind: 'consent_required', outcome: 'granted', resolver: { method: 'link' } } as const
  return { resolved: resolvedDigests, ended: endedCorrelationIds, decisions, decision }
}

test('a person who has lost access cannot decide an earlier requirement', async () => {
  const { decisions, decision, resolved } = openDecisions({})
  expect(await decisions.resolveRequirement({ ...decision, digest: 'd1' }, 'c')).toMatchObject({
    outcome: 'refused',
    reason: 'expired',
  })
  expect(resolved).toEqual([])
})

test('a person with access can decide a requirement', async () => {
  const { decisions, decision, resolved } = openDecisions(friend)
  expect(await decisions.resolveRequirement({ ...decision, digest: 'd2' }, 'c')).toEqual({ outcome: 'resolved' })
  expect(resolved).toEqual(['d2'])
})

test('the requirement of a person who has lost access expires without a turn', async () => {
  const strangerDecisions = openDecisions({})
  await strangerDecisions.decisions.endOverdue('r', 'c')
  const friendDecisions = openDecisions(friend)
  await friendDecisions.decisions.endOverdue('r', 'c')
  expect([strangerDecisions.ended, friendDecisions.ended]).toEqual([[undefined], ['c']])
})
