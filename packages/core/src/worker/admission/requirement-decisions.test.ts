import { expect, test } from 'vitest'
import type { Store } from '../../ports/store.ts'
import { createRequirementDecisions } from './rules.ts'

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
