import type { PartialResponse, PolicyResolution } from '@postern/message'
import { createMemoryRecords } from '@postern/transcript'
import { describe, expect, test } from 'vitest'
import { testContext, testMessage, testSystem } from '../../test/gateway.ts'
import { openApprovals } from './approvals.ts'

const start = Date.UTC(2026, 0, 1)
const onlyOnce = { approve: 'sender', remember: 'none', remember_days: 1 } as const

function openTest({ name = 'shop', records = createMemoryRecords() } = {}) {
  let time = start
  const approvals = openApprovals({ name, records, system: { ...testSystem, now: () => time } })
  const call = { id: 'c1', name: 'refund', args: { order: '17' } }
  return {
    records,
    approvals,
    wait: (hours: number) => {
      time += hours * 3_600_000
    },
    ask: (overrides: object = {}) =>
      approvals.ask({ ...call, ...overrides }, { ...testContext(), message: testMessage('Refund') }),
  }
}

function policyOf({ parts = [] }: PartialResponse) {
  const [part] = parts
  if (part?.kind !== 'policy') throw new Error('there is no policy')
  return part.policy
}

function decideOn(question: PartialResponse, outcome: 'granted' | 'declined') {
  const { kind, code, data, requirement } = policyOf(question)
  const policy_resolution = { in_reply_to_state: 'x', requirement, kind, outcome, code, data } as PolicyResolution
  return testMessage('Agreed', { policy_resolution })
}

describe('openApprovals()', () => {
  test('records the action, and asks with its arguments if the tool has no text (E-38)', async () => {
    const { ask, records } = openTest()
    const question = await ask()
    expect(question.status).toBe('input_required')
    expect(policyOf(question)).toMatchObject({
      kind: 'consent_required',
      code: 'approval:required',
      message: 'May I run "refund" with {"order":"17"}?',
      data: { 'dev.postern.action': { kind: 'refund', tool_call_id: 'c1', arguments: ['order'] } },
    })
    const [record] = await records.list('pending-action', 'agent:shop')
    expect(record?.value).toMatchObject({ status: 'pending', apply_input: { args: { order: '17' } } })
  })

  test('shows the arguments in full, or says where it truncates them', async () => {
    const { ask } = openTest()
    expect(policyOf(await ask({ args: { to: '\u202e71' } })).message).toBe(
      'May I run "refund" with {"to":"\\u202e71"}?',
    )
    expect(policyOf(await ask({ preview: 'Pay \u202e71 back?' })).message).toBe('Pay \ufffd71 back?')
    for (const overrides of [{ preview: 'x'.repeat(1_501) }, { args: { to: 'x'.repeat(1_501) } }]) {
      expect(policyOf(await ask(overrides)).message).toContain('xx … (not shown whole)')
    }
  })

  test('runs a granted action once, and knows its result when the turn runs again (E-39)', async () => {
    const { ask, approvals } = openTest()
    const message = decideOn(await ask(), 'granted')
    const runs: unknown[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      const decided = await approvals.findDecided(message)
      if (!decided) throw new Error('it decides on nothing')
      const run = async (args: unknown) => {
        runs.push(args)
        return { result: { done: 17 } }
      }
      expect(await approvals.settle(decided, run)).toEqual({ result: { done: 17 } })
    }
    expect(runs).toEqual([{ order: '17' }])
  })

  test('does not repeat an interrupted action, and says that its result is unknown (E-39)', async () => {
    const { ask, approvals } = openTest()
    const message = decideOn(await ask(), 'granted')
    const decided = await approvals.findDecided(message)
    if (!decided) throw new Error('it decides on nothing')
    // The process dies during this run.
    void approvals.settle(decided, () => new Promise(() => {}))
    await new Promise(resolve => setImmediate(resolve))
    const again = await approvals.findDecided(message)
    if (!again) throw new Error('it decides on nothing')
    const outcome = await approvals.settle(again, async () => ({ result: 'twice' }))
    expect(outcome).toEqual({
      error: { message: 'It was begun and broken off. Whether it took effect is not known.' },
    })
  })

  test('never runs a declined action, or one with a late decision (E-39)', async () => {
    for (const [outcome, hours, words] of [
      ['declined', 0, 'It was not allowed.'],
      ['granted', 3, 'Nobody allowed it in time.'],
    ] as const) {
      const { ask, approvals, wait } = openTest()
      const question = await ask({ rule: { ...onlyOnce, expires_after_hours: 2 } })
      wait(hours)
      const decided = await approvals.findDecided(decideOn(question, outcome))
      if (!decided) throw new Error('it decides on nothing')
      const settled = await approvals.settle(decided, async () => ({ result: 'run' }))
      expect(settled).toEqual({ error: { message: words } })
    }
  })

  test('tells whether a call waits or has expired', async () => {
    const { ask, approvals, wait } = openTest()
    const policy = policyOf(await ask({ rule: { ...onlyOnce, expires_after_hours: 2 } }))
    expect((await approvals.describe(policy))?.outcome).toEqual({ error: { message: 'It still waits to be allowed.' } })
    wait(3)
    expect((await approvals.describe(policy))?.outcome).toEqual({ error: { message: 'Nobody allowed it in time.' } })
  })

  test('tells that a call has expired even if only its requirement has a deadline', async () => {
    const { ask, approvals, wait } = openTest()
    const policy = { ...policyOf(await ask()), expires_at: new Date(start + 2 * 3_600_000).toISOString() }
    wait(1)
    expect((await approvals.describe(policy))?.outcome).toEqual({ error: { message: 'It still waits to be allowed.' } })
    wait(1)
    expect((await approvals.describe(policy))?.outcome).toEqual({ error: { message: 'Nobody allowed it in time.' } })
  })

  test('refuses a decision on another agent’s call, a missing call, or another object', async () => {
    const records = createMemoryRecords()
    const { ask } = openTest({ records })
    const { approvals } = openTest({ name: 'other', records })
    const question = await ask()
    expect(await approvals.findDecided(decideOn(question, 'granted'))).toBeUndefined()
    expect(await approvals.findDecided(testMessage('Agreed'))).toBeUndefined()
    const { policy_resolution } = decideOn(question, 'granted')
    if (!policy_resolution) throw new Error('there is no decision')
    const otherMessage = testMessage('Agreed', { policy_resolution: { ...policy_resolution, code: 'another' } })
    expect(await openTest({ records }).approvals.findDecided(otherMessage)).toBeUndefined()
  })
})
