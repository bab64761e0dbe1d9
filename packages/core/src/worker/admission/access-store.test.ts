import { describe, expect, test } from 'vitest'
import type { ChannelName } from '../../message/message.ts'
import type { Intake } from '../../ports/records/intake.ts'
import type { Store } from '../../ports/store.ts'
import { guardAccess } from './access-store.ts'

const access = { allow: [{ issuer: 'friend.test' }] }

function open() {
  const admitted: Intake[] = []
  const store = {
    admit: async (intake: Intake) => {
      admitted.push(intake)
      return { outcome: 'accepted', message: admitted.length }
    },
  } as unknown as Store
  return {
    admitted,
    store: guardAccess(
      store,
      agent => (agent === 'desk' ? access : undefined),
      via => via === 'calls',
    ),
  }
}

function intake(via: ChannelName, members: Partial<Intake> = {}): Intake {
  return {
    agent: 'desk',
    message: { sender: { address: '@a@b.test', auth_method: 'none', verified: false }, received_via: via },
    disposition: 'answer',
    ...members,
  } as unknown as Intake
}

describe('guardAccess()', () => {
  test('who is not on the list is told so where peers wait for an answer', async () => {
    const { store, admitted } = open()
    await expect(store.admit(intake('calls'), 'c1')).rejects.toMatchObject({
      code: 'forbidden',
      message: 'Cannot take message: its sender may not speak to this agent',
    })
    expect(admitted).toEqual([])
  })

  test('elsewhere the message is kept, and no agent gets it', async () => {
    const via = 'letters'
    const { store, admitted } = open()
    await store.admit(intake(via, { flags: ['hidden_text'] }), 'c1')
    expect(admitted[0]).toMatchObject({ disposition: 'keep', flags: ['hidden_text', 'not_allowed'] })
  })

  test('who is on it, and every message to an agent without a list, goes through as it is', async () => {
    const { store, admitted } = open()
    const identities = [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }]
    const friend = { message: { sender: { identities }, received_via: 'a2a' } } as unknown as Partial<Intake>
    await store.admit(intake('a2a', friend), 'c1')
    await store.admit(intake('a2a', { agent: 'echo' }), 'c1')
    expect(admitted.map(({ disposition, flags }) => [disposition, flags])).toEqual([
      ['answer', undefined],
      ['answer', undefined],
    ])
  })

  test('whoever may not speak does not become a follower, but may end what they began', async () => {
    const { store, admitted } = open()
    const follow = { kind: 'relate', relation: 'follower', peer: 'p', target: {} } as const
    const block = { kind: 'relate', relation: 'blocked_by', peer: 'p', target: {} } as const
    const unfollow = { kind: 'unrelate', relation: 'follower', peer: 'p' } as const
    const deliveries = [{ to: 'inbox', target: {} }]
    await store.admit(intake('activitypub', { disposition: 'keep', effects: [follow], deliveries }), 'c1')
    await store.admit(intake('activitypub', { disposition: 'keep', effects: [block, unfollow] }), 'c1')
    expect(admitted[0]).toMatchObject({ effects: [], deliveries: [], flags: ['not_allowed'] })
    expect(admitted[1]).toMatchObject({ effects: [block, unfollow], flags: [] })
  })

  test('whoever may not speak is told nothing, and is not remembered as a correspondent', async () => {
    const { store, admitted } = open()
    const effects = [{ kind: 'relate', relation: 'correspondent', peer: 'p', target: {} }] as const
    await store.admit(intake('email', { deliveries: [{ to: 'p', target: {} }], effects }), 'c1')
    await store.admit(intake('email', { deliveries: [{ to: 'p', target: {} }] }), 'c1')
    expect(admitted).toMatchObject([
      { effects: [], deliveries: [], flags: ['not_allowed'] },
      { deliveries: [], flags: ['not_allowed'] },
    ])
  })

  test('who may not speak any more decides nothing of what was required before', async () => {
    const friend = { identities: [{ issuer: 'friend.test', subject: 's', method: 'm', assurance: 'address' }] }
    const resolved: string[] = []
    const openOf = (sender: object) =>
      guardAccess(
        {
          findRequirement: async () => ({ agent: 'desk', message: 1 }),
          findMessage: async () => ({ message: { sender } }),
          resolveRequirement: async ({ digest }: { digest: string }) => {
            resolved.push(digest)
            return { outcome: 'resolved' }
          },
        } as unknown as Store,
        () => access,
        () => false,
      )
    const decide = (sender: object, digest: string) =>
      openOf(sender).resolveRequirement(
        { digest, kind: 'consent_required', outcome: 'granted', resolver: { method: 'link' } },
        'c',
      )
    expect(await decide({}, 'd1')).toMatchObject({ outcome: 'refused', reason: 'expired' })
    expect(await decide(friend, 'd2')).toEqual({ outcome: 'resolved' })
    expect(resolved).toEqual(['d2'])
  })
})
