import type { Store } from '@postern/core'
import { operatorSubject } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { requirementDigestOf } from '../setup/requirement-sketch.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, leaseTurns, sketchIntake, sketchResponse, withStore } from '../setup/under-test.ts'

const hourMs = 3_600_000

/** A message in a thread of its own, answered with a requirement of this name; by default one that operators decide. */
async function requirement(
  { store, now }: { readonly store: Store; now(): number },
  id: string,
  subject: string = operatorSubject,
): Promise<void> {
  await store.admit(sketchIntake(`asked ${id}`, inThread(id)), 'c')
  const turn = await leaseOnlyTurn(store)
  const kind = 'consent_required'
  const policy = { kind, message: `May I ${id}?`, approver: 'operator' }
  const planned = { id, digest: requirementDigestOf(id), kind, policy, subject, expiresAt: now() + hourMs } as const
  await store.commit(turn, {
    response: sketchResponse(turn, `may I ${id}`, 'input_required'),
    deliveries: [],
    requirements: [planned],
  })
}

export function overdueContract(open: OpenStore): void {
  describe('requirements that operators let go by', () => {
    test(
      'appear when their time is over, the longest waiting first, without those of others and decided ones',
      withStore(open, async under => {
        for (const id of ['d1', 'd2', 'd3']) {
          await requirement(under, id)
          under.advance(1)
        }
        await requirement(under, 'd4', '["https://id.test","ada"]')
        const decision = { digest: requirementDigestOf('d2'), kind: 'consent_required', outcome: 'granted' } as const
        await under.store.resolveRequirement({ ...decision, resolver: { method: 'operator' } }, 'c')
        expect(await under.store.listOverdue(9)).toEqual([])
        under.advance(hourMs)
        expect((await under.store.listOverdue(9)).map(({ id }) => id)).toEqual(['d1', 'd3'])
        expect((await under.store.listOverdue(1)).map(({ id }) => id)).toEqual(['d1'])
      }),
    )
    test(
      'end once, with a turn in their thread that says so, and take no decision then',
      withStore(open, async under => {
        const { store } = under
        await requirement(under, 'd1')
        expect(await store.endOverdue('d1', 'early')).toBeUndefined()
        under.advance(hourMs)
        const ended = await Promise.all(['c2', 'c3', 'c4'].map(id => store.endOverdue('d1', id)))
        expect(ended.filter(message => message !== undefined)).toHaveLength(1)
        expect(await store.findRequirement({ id: 'd1' })).toMatchObject({
          status: 'expired',
          resolvedAt: under.now(),
          resolver: { method: 'timeout' },
        })
        const turn = await leaseOnlyTurn(store)
        expect(turn.content).toMatchObject({
          parts: [{ kind: 'text', mime: 'text/plain', content: 'Nobody decided in time: May I d1?' }],
          policy_resolution: {
            requirement: 'd1',
            outcome: 'declined',
            resolver: { method: 'timeout' },
            approver: 'operator',
          },
        })
        expect(await store.listOverdue(9)).toEqual([])
        const late = { digest: requirementDigestOf('d1'), kind: 'consent_required', outcome: 'granted' } as const
        const resolver = { method: 'operator' }
        expect(await store.resolveRequirement({ ...late, resolver }, 'c')).toMatchObject({ reason: 'expired' })
      }),
    )
    test(
      'end without a turn where nobody has to hear of it',
      withStore(open, async under => {
        await requirement(under, 'd1')
        under.advance(hourMs)
        expect(await under.store.endOverdue('d1')).toBeUndefined()
        expect(await under.store.listOverdue(9)).toEqual([])
        expect(await leaseTurns(under.store)).toEqual([])
        expect(await under.store.endOverdue('unknown', 'c')).toBeUndefined()
      }),
    )
  })
}
