import type { Desk } from '@postern/core'
import { operatorSubject } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { digestOf } from './demand-sketch.ts'
import type { OpenDesk } from './under-test.ts'
import { inThread, leaseOnlyTurn, leaseTurns, sketchIntake, sketchResponse, withDesk } from './under-test.ts'

const hourMs = 3_600_000

/** A message in a thread of its own, answered with a demand of this name; by default one that operators decide. */
async function demand(
  { desk, now }: { readonly desk: Desk; now(): number },
  id: string,
  subject: string = operatorSubject,
): Promise<void> {
  await desk.admit(sketchIntake(`asked ${id}`, inThread(id)), 'c')
  const turn = await leaseOnlyTurn(desk)
  const kind = 'consent_required'
  const policy = { kind, message: `May I ${id}?`, approver: 'operator' }
  const planned = { id, digest: digestOf(id), kind, policy, subject, expiresAt: now() + hourMs } as const
  await desk.commit(turn, {
    response: sketchResponse(turn, `may I ${id}`, 'input_required'),
    deliveries: [],
    demands: [planned],
  })
}

export function overdueContract(open: OpenDesk): void {
  describe('demands that operators let go by', () => {
    test(
      'are listed when their time is over, who has waited longest first; nobody else’s, and none that is decided',
      withDesk(open, async under => {
        for (const id of ['d1', 'd2', 'd3']) {
          await demand(under, id)
          under.advance(1)
        }
        await demand(under, 'd4', '["https://id.test","ada"]')
        const decision = { digest: digestOf('d2'), kind: 'consent_required', outcome: 'granted' } as const
        await under.desk.resolveDemand({ ...decision, resolver: { method: 'operator' } }, 'c')
        expect(await under.desk.listOverdue(9)).toEqual([])
        under.advance(hourMs)
        expect((await under.desk.listOverdue(9)).map(({ id }) => id)).toEqual(['d1', 'd3'])
        expect((await under.desk.listOverdue(1)).map(({ id }) => id)).toEqual(['d1'])
      }),
    )
    test(
      'end once, with a turn in their thread that says so; nothing decides them then',
      withDesk(open, async under => {
        const { desk } = under
        await demand(under, 'd1')
        expect(await desk.endOverdue('d1', 'early')).toBeUndefined()
        under.advance(hourMs)
        const ended = await Promise.all(['c2', 'c3', 'c4'].map(id => desk.endOverdue('d1', id)))
        expect(ended.filter(message => message !== undefined)).toHaveLength(1)
        expect(await desk.findDemand({ id: 'd1' })).toMatchObject({
          status: 'expired',
          resolvedAt: under.now(),
          resolver: { method: 'timeout' },
        })
        const turn = await leaseOnlyTurn(desk)
        expect(turn.content).toMatchObject({
          parts: [{ kind: 'text', mime: 'text/plain', content: 'Nobody decided in time: May I d1?' }],
          policy_resolution: {
            demand: 'd1',
            outcome: 'declined',
            resolver: { method: 'timeout' },
            approver: 'operator',
          },
        })
        expect(await desk.listOverdue(9)).toEqual([])
        const late = { digest: digestOf('d1'), kind: 'consent_required', outcome: 'granted' } as const
        const resolver = { method: 'operator' }
        expect(await desk.resolveDemand({ ...late, resolver }, 'c')).toMatchObject({ reason: 'expired' })
      }),
    )
    test(
      'end without a turn where nobody is to be told',
      withDesk(open, async under => {
        await demand(under, 'd1')
        under.advance(hourMs)
        expect(await under.desk.endOverdue('d1')).toBeUndefined()
        expect(await under.desk.listOverdue(9)).toEqual([])
        expect(await leaseTurns(under.desk)).toEqual([])
        expect(await under.desk.endOverdue('unknown', 'c')).toBeUndefined()
      }),
    )
  })
}
