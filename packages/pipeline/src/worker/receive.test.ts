import { Rejection, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createQuietSystem } from '../../test/memory-store.ts'
import { message } from '../../test/messages.ts'
import type { AdmissionRule } from '../ports/admission-rule.ts'
import type { Inbound } from '../ports/channel/inbound.ts'
import type { Intake } from '../ports/records/intake.ts'
import type { Refusal } from '../ports/records/operator/refusal.ts'
import type { ReceiveDeps } from './receive.ts'
import { admitOwn, receive } from './receive.ts'
import { hasRefusal, markSelfTest, recordRefusal } from './record-refusal.ts'

const intake: Intake = {
  agent: 'echo',
  message: { ...message(), thread_source: 't' },
  duplicateKey: 'k',
  thread: { scope: 'public', references: [] },
  aliases: [],
  proofs: [],
  raw: { bytes: new Uint8Array(), form: 'json' },
  target: null,
  disposition: 'answer',
}

function openReceiveDeps(maxListed = 10) {
  const refusals: Refusal[] = []
  const admit = vi.fn(async (admittedIntake: Intake, _correlationId: string) => ({
    outcome: 'accepted' as const,
    message: admittedIntake.agent.length,
  }))
  const withdraw = vi.fn(async () => {})
  const receiveDeps: ReceiveDeps = {
    admission: { rules: [], store: { admit } },
    store: { withdraw, refuse: refusal => refusals.push(refusal) <= maxListed },
    system: createQuietSystem(),
    from: '192.0.2.1',
  }
  return { reception: receiveDeps, admit, withdraw, refusals }
}

function createInbound(steps: Partial<Inbound<string, string>>): Inbound<string, string> {
  return { name: 'activitypub', verify: async raw => `${raw}!`, normalize: () => [intake], ...steps }
}

describe('receive()', () => {
  test('admits every verified intake under one correlation id', async () => {
    const { reception, admit } = openReceiveDeps()
    const normalize = vi.fn(() => [intake, { ...intake, agent: 'helper' }])
    expect(await receive(createInbound({ normalize }), 'raw', reception)).toEqual([
      { outcome: 'accepted', message: 4 },
      { outcome: 'accepted', message: 6 },
    ])
    expect(normalize).toHaveBeenCalledWith('raw!')
    expect(admit.mock.calls.map(([, correlationId]) => correlationId)).toEqual(['0'.repeat(16), '0'.repeat(16)])
  })

  test('counts all messages of a request before it admits any of them', async () => {
    const { reception, admit, refusals } = openReceiveDeps()
    const count = vi.fn(() => {
      throw new Rejection('rate_limited', 'Cannot take message: too many', { retryAfter: 9 })
    })
    const intakes = [intake, { ...intake, agent: 'helper' }]
    const received = receive(createInbound({ normalize: () => intakes }), 'raw', {
      ...reception,
      admission: { ...reception.admission, rules: [{ name: 'limits', count }] },
    })
    await expect(received).rejects.toMatchObject({ code: 'rate_limited', message: 'Cannot take message: too many' })
    expect(count.mock.calls).toEqual([[intakes, '192.0.2.1']])
    expect(admit).not.toHaveBeenCalled()
    expect(refusals).toMatchObject([{ code: 'rate_limited', from: '192.0.2.1' }])
  })

  test('admits nothing without messages', async () => {
    const { reception, admit, refusals } = openReceiveDeps()
    expect(await receive(createInbound({ normalize: () => [] }), 'raw', reception)).toEqual([])
    expect(admit).not.toHaveBeenCalled()
    expect(refusals).toEqual([])
  })

  test('withdraws messages only after it has admitted the others', async () => {
    const { reception, admit, withdraw } = openReceiveDeps()
    const withdrawal = { kind: 'forget', author: 'ada', object: 'note' } as const
    await receive(createInbound({ listWithdrawals: () => [withdrawal] }), 'raw', reception)
    expect(withdraw).toHaveBeenCalledExactlyOnceWith('activitypub', [withdrawal])
    expect(withdraw.mock.invocationCallOrder[0]).toBeGreaterThan(admit.mock.invocationCallOrder[0] ?? Number.NaN)
  })

  test('withdraws nothing without a deletion', async () => {
    const { reception, withdraw } = openReceiveDeps()
    await receive(createInbound({ listWithdrawals: () => [] }), 'raw', reception)
    await receive(createInbound({}), 'raw', reception)
    expect(withdraw).not.toHaveBeenCalled()
  })

  test('records refusals, and normalizes nothing unproven', async () => {
    const { reception, refusals } = openReceiveDeps()
    const normalize = vi.fn(() => [intake])
    const rejection = new Rejection('expired', 'Cannot verify activity: signature expired')
    await expect(
      receive(createInbound({ verify: () => Promise.reject(rejection), normalize }), 'raw', reception),
    ).rejects.toBe(rejection)
    expect(normalize).not.toHaveBeenCalled()
    expect(refusals).toEqual([
      {
        at: '1970-01-01T00:00:00.000Z',
        via: 'activitypub',
        from: '192.0.2.1',
        code: 'expired',
        reason: 'Cannot verify activity: signature expired',
      },
    ])
  })

  test('rejects if the store cannot commit a message', async () => {
    const { reception, admit } = openReceiveDeps()
    admit.mockRejectedValue(new Error('disk full'))
    await expect(receive(createInbound({}), 'raw', reception)).rejects.toThrow('disk full')
  })
})

/** Creates a rule that flags each message with its name, and adds the number of messages and the peer to `counted`. */
function createMarkingRule(name: string, countLines: string[] = []): AdmissionRule {
  return {
    name,
    count: (intakes, from) => void countLines.push(`${name} ${intakes.length} ${from}`),
    admit: each => ({ ...each, flags: [...(each.flags ?? []), name] }),
  }
}

const createRefusingRule = (name: string): AdmissionRule => ({
  name,
  admit: () => {
    throw new Rejection('forbidden', name)
  },
})

describe('receive() with a list of rules', () => {
  function receiveByRules(rules: readonly AdmissionRule[]) {
    const { reception, admit } = openReceiveDeps()
    const depsWithRules = { ...reception, admission: { ...reception.admission, rules } }
    const normalize = () => [intake, { ...intake, agent: 'helper' }]
    return { admit, received: receive(createInbound({ normalize }), 'raw', depsWithRules) }
  }

  test('passes each rule the messages that the previous one left, and counts all together', async () => {
    const counted: string[] = []
    const { admit, received } = receiveByRules([
      createMarkingRule('first', counted),
      createMarkingRule('second', counted),
    ])
    await received
    expect(admit.mock.calls.map(([{ agent, flags }]) => [agent, flags])).toEqual([
      ['echo', ['first', 'second']],
      ['helper', ['first', 'second']],
    ])
    expect(counted).toEqual(['first 2 192.0.2.1', 'second 2 192.0.2.1'])
  })

  test('refuses with the first refusing rule, and later rules count nothing', async () => {
    const counted: string[] = []
    const rules = [createRefusingRule('earlier'), createMarkingRule('later', counted), createRefusingRule('last')]
    const first = receiveByRules(rules)
    await expect(first.received).rejects.toThrow('earlier')
    expect(counted).toEqual([])
    const last = receiveByRules(rules.toReversed())
    await expect(last.received).rejects.toThrow('last')
    expect([first, last].map(({ admit }) => admit.mock.calls.length)).toEqual([0, 0])
  })
})

test('admitOwn() applies the rules to a message of the gateway without counting it', async () => {
  const counted: string[] = []
  const { reception, admit } = openReceiveDeps()
  const { store } = reception.admission
  const rules = [createMarkingRule('first', counted), { name: 'counts only', count: () => expect.unreachable() }]
  expect(await admitOwn(intake, { rules, store }, 'c')).toEqual({ outcome: 'accepted', message: 4 })
  expect(admit.mock.calls.map(([{ flags }, correlationId]) => [flags, correlationId])).toEqual([[['first'], 'c']])
  expect(counted).toEqual([])
  await expect(admitOwn(intake, { rules: [createRefusingRule('not here')], store }, 'c')).rejects.toThrow('not here')
})

describe('recordRefusal()', () => {
  test('records refusals, temporary errors and internal errors, without their text', () => {
    const { reception, refusals } = openReceiveDeps()
    recordRefusal(new Unavailable('The key host did not answer'), 'email', reception)
    recordRefusal(new Error('secret is undefined'), 'email', reception)
    recordRefusal(new Rejection('too_large', 'Too large'), 'email', reception)
    expect(refusals).toMatchObject([
      { via: 'email', code: 'unavailable', reason: 'The key host did not answer' },
      { via: 'email', code: 'internal', reason: 'a fault of the gateway: its log has it' },
      { via: 'email', code: 'too_large', reason: 'Too large' },
    ])
  })

  test('does not log a refusal that the list leaves out', () => {
    const { reception, refusals } = openReceiveDeps(2)
    const info = vi.fn()
    const system = { ...reception.system, log: { ...reception.system.log, info } }
    for (let count = 0; count < 1_000; count++) {
      recordRefusal(new Rejection('unsigned', 'No signature'), 'activitypub', { ...reception, system })
    }
    expect(refusals).toHaveLength(1_000)
    expect(info).toHaveBeenCalledTimes(2)
  })

  test('omits a self-test with its expected outcome, and records any other request', () => {
    const { reception, refusals } = openReceiveDeps()
    const request = {}
    markSelfTest(request, 'refused')
    recordRefusal(new Rejection('signature_invalid', 'Forged'), 'a2a', { ...reception, request })
    expect(hasRefusal(request)).toBe(true)
    expect(refusals).toEqual([])
    recordRefusal(new Unavailable('The disk is full'), 'a2a', { ...reception, request })
    recordRefusal(new Rejection('signature_invalid', 'Forged'), 'a2a', { ...reception, request: {} })
    const acceptedRequest = {}
    markSelfTest(acceptedRequest, 'taken')
    recordRefusal(new Rejection('expired', 'Too old'), 'a2a', { ...reception, request: acceptedRequest })
    expect(refusals.map(({ code }) => code)).toEqual(['unavailable', 'signature_invalid', 'expired'])
  })

  test('records the request’s endpoint, its answer and its claims', () => {
    const { reception, refusals } = openReceiveDeps()
    const request = {}
    const context = { endpoint: 'POST /inbox', statusOf: () => 401, request, claimed_sender: 'ada', peer_id: 'note 1' }
    expect(hasRefusal(request)).toBe(false)
    recordRefusal(new Rejection('expired', 'Too old'), 'email', { ...reception, ...context })
    expect(hasRefusal(request)).toBe(true)
    expect(refusals).toMatchObject([
      { endpoint: 'POST /inbox', status: 401, claimed_sender: 'ada', peer_id: 'note 1', from: '192.0.2.1' },
    ])
  })
})
