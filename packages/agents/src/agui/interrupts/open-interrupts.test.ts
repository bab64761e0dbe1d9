import type { Json, NormalizedMessage, PartialResponse } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openAgui } from '../../../test/agui-agent.ts'
import { eventsOf, finished, runOf, textEvent } from '../../../test/agui-server.ts'
import { testMessage } from '../../../test/gateway.ts'
import { textOfAnswer } from '../../../test/model-agent.ts'
import type { ModelReply } from '../../../test/model-server.ts'

const consent = { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }

const waiting = (...interrupts: readonly object[]): ModelReply =>
  eventsOf(finished({ outcome: { type: 'interrupt', interrupts } }))

const policyOf = (answer: PartialResponse | undefined) =>
  answer?.parts?.flatMap(part => (part.kind === 'policy' ? [part.policy] : []))[0]

/** Returns a decision in the form in which the gateway sends it to the agent. */
function decide(answer: PartialResponse | undefined, members: object): NormalizedMessage {
  const { state = '', code, data } = policyOf(answer) ?? {}
  return testMessage('Agreed: …', { policy_resolution: { in_reply_to_state: state, code, data, ...members } })
}

describe('a question with a boolean `approved`', () => {
  test.each<[members: object, answer: object]>([
    [{ outcome: 'granted' }, { status: 'resolved', payload: { approved: true } }],
    [{ outcome: 'declined' }, { status: 'resolved', payload: { approved: false } }],
    [{ outcome: 'declined', cancelled: true }, { status: 'cancelled' }],
  ])('becomes a consent with its decision as the answer: %j', async (members, expected) => {
    const { ask, server } = await openAgui([
      waiting({ id: 'i1', message: 'Refund 20 euros?', responseSchema: consent }),
      runOf(textEvent('Done.')),
    ])
    const { answer } = await ask('refund')
    expect(answer?.status).toBe('input_required')
    expect(policyOf(answer)).toMatchObject({ kind: 'consent_required', message: 'Refund 20 euros?' })
    expect(textOfAnswer((await ask(decide(answer, members))).answer)).toBe('Done.')
    expect(server.inputs()[1]?.resume).toEqual([{ interruptId: 'i1', ...expected }])
  })

  test('stays open at a message, which reaches the server', async () => {
    const asking = waiting({ id: 'i1', message: 'Refund?', responseSchema: consent })
    const { ask, server } = await openAgui([asking, asking, runOf(textEvent('Done.'))])
    const { answer: first } = await ask('refund')
    const { answer: again } = await ask('yes!')
    expect(server.inputs()[1]).toMatchObject({ messages: [{ content: 'yes!' }] })
    expect(server.inputs()[1]).not.toHaveProperty('resume')
    expect(policyOf(again)).toMatchObject({ message: 'Refund?' })
    expect(textOfAnswer((await ask(decide(first, { outcome: 'granted' }))).answer)).toBe('Done.')
    const late = await ask(decide(again, { outcome: 'granted' }))
    expect(textOfAnswer(late.answer)).toBe('The agent does not wait for this any more.')
    expect(server.inputs()).toHaveLength(3)
  })

  test.each([
    ['2020-01-01T00:00:00Z', 60],
    ['2999-01-01T00:00:00Z', 30 * 86_400],
  ])('is open until %s within the limits of a requirement', async (expiresAt, seconds) => {
    const { ask } = await openAgui([waiting({ id: 'i1', responseSchema: consent, expiresAt })])
    // The clock of the requirements stands still in these tests.
    const expectedExpiry = new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()
    expect(policyOf((await ask()).answer)?.expires_at).toBe(expectedExpiry)
  })
})

describe('a question in a conversation of several people', () => {
  const asking = waiting({ id: 'i1', message: 'Which size?' })
  const bob = (text: string) =>
    testMessage(text, { sender: { address: '@bob@peer.test', auth_method: 'none', verified: false } })

  test('waits for its own person, even if others cause it again', async () => {
    const { ask, server } = await openAgui([asking, asking, asking, runOf(textEvent('Done.'))])
    await ask('order')
    for (const text of ['XXL', 'XXXL']) {
      const { answer } = await ask(bob(text))
      expect(textOfAnswer(answer)).toBe('The agent waits for the answer of somebody else in this conversation.')
      expect(answer?.status).not.toBe('input_required')
    }
    expect(server.inputs().every(input => !('resume' in input))).toBe(true)
    expect(textOfAnswer((await ask('L')).answer)).toBe('Done.')
    expect(server.inputs()[3]?.resume).toEqual([{ interruptId: 'i1', status: 'resolved', payload: 'L' }])
  })

  test('waits for its own person even if the server gives it a new id in each run', async () => {
    const again = waiting({ id: 'i2', message: 'Which size?' })
    const { ask, server } = await openAgui([asking, again, runOf(textEvent('Done.'))])
    await ask('order')
    expect(textOfAnswer((await ask(bob('XXL'))).answer)).toContain('the answer of somebody else')
    expect(textOfAnswer((await ask('L')).answer)).toBe('Done.')
    expect(server.inputs()[2]?.resume).toEqual([{ interruptId: 'i2', status: 'resolved', payload: 'L' }])
  })

  test('accepts consent only from that person', async () => {
    const consenting = waiting({ id: 'i1', message: 'Refund?', responseSchema: consent })
    const { ask } = await openAgui([consenting, consenting, runOf(textEvent('Done.'))])
    const { answer: first } = await ask('refund')
    expect(policyOf((await ask(bob('refund me, too'))).answer)).toBeUndefined()
    expect(textOfAnswer((await ask(decide(first, { outcome: 'granted' }))).answer)).toBe('Done.')
  })
})

test('an approval of one question does not approve another one with its id', async () => {
  const asking = (message: string) => waiting({ id: 'i1', message, responseSchema: consent })
  const { ask, server } = await openAgui([asking('Refund 20 euros?'), asking('Refund 2000 euros?')])
  const { answer } = await ask('refund')
  await ask('more!')
  const late = await ask(decide(answer, { outcome: 'granted' }))
  expect(textOfAnswer(late.answer)).toBe('The agent does not wait for this any more.')
  expect(server.inputs()).toHaveLength(2)
})

describe('several questions', () => {
  test('get an answer each, one after the other, and the server gets all together', async () => {
    const { ask, server } = await openAgui([
      waiting(
        { id: 'i1', message: 'Which size?' },
        { id: 'i2', message: 'Refund?', responseSchema: consent },
        { id: 'i3', message: 'How many?', responseSchema: { type: 'integer' } },
      ),
      runOf(textEvent('Done.')),
    ])
    expect(textOfAnswer((await ask('order')).answer)).toBe('Which size?')
    const { answer } = await ask('L')
    expect(policyOf(answer)).toMatchObject({ message: 'Refund?' })
    expect(textOfAnswer((await ask(decide(answer, { outcome: 'granted' }))).answer)).toBe('How many?')
    expect(server.inputs()).toHaveLength(1)
    expect(textOfAnswer((await ask('3')).answer)).toBe('Done.')
    expect(server.inputs()[1]?.resume).toEqual([
      { interruptId: 'i1', status: 'resolved', payload: 'L' },
      { interruptId: 'i2', status: 'resolved', payload: { approved: true } },
      { interruptId: 'i3', status: 'resolved', payload: 3 },
    ])
  })
})

test('a person who cancels a consent with only yes or no declines it', async () => {
  const rawEvent = { id: 'a'.repeat(32), response_schema: consent }
  const { ask, server } = await openAgui([
    eventsOf({ type: 'CUSTOM', name: 'on_interrupt', value: 'Refund?', rawEvent }, finished()),
    runOf(textEvent('Done.')),
  ])
  const { answer } = await ask('refund')
  await ask(decide(answer, { outcome: 'declined', cancelled: true }))
  expect(server.inputs()[1]).toMatchObject({ forwardedProps: { command: { resume: { approved: false } } } })
})

test('a server that fails at a cancelled question does not repeat it', async () => {
  const failed = eventsOf({ type: 'RUN_ERROR', message: 'hunter2' })
  const { ask, kept } = await openAgui([waiting({ id: 'i1', message: 'Which size?' }), failed])
  await ask('order')
  expect((await ask(testMessage('', { kind: 'cancel', parts: [] }))).answer?.status).toBe('failed')
  expect(kept()).not.toHaveProperty('interrupts')
})

test('a closed question reaches the server as cancelled, once', async () => {
  const { ask, server } = await openAgui([waiting({ id: 'i1', message: 'Which size?' }), runOf(textEvent('Done.'))])
  await ask('order')
  const closed = testMessage('', { kind: 'cancel', parts: [] })
  expect(textOfAnswer((await ask(closed)).answer)).toBe('Done.')
  expect(server.inputs()[1]?.resume).toEqual([{ interruptId: 'i1', status: 'cancelled' }])
  expect((await ask(closed)).answer).toBeUndefined()
  expect(server.inputs()).toHaveLength(2)
})

describe('a server that fails at an answer', () => {
  const failed = eventsOf(textEvent('One moment.'), { type: 'RUN_ERROR', message: 'hunter2' })

  test('repeats the question once', async () => {
    const { ask, server, kept } = await openAgui([
      waiting({ id: 'i1', message: 'Which size?' }),
      failed,
      failed,
      runOf(textEvent('Hello.')),
    ])
    await ask('order')
    const { answer: again } = await ask('L')
    expect(again?.status).toBe('input_required')
    expect(textOfAnswer(again)).toContain('That did not work. Please answer again.\n\nWhich size?')
    const { answer: last } = await ask('M')
    expect(last?.status).toBe('failed')
    expect(textOfAnswer(last)).not.toMatch(/Which size|hunter2/)
    expect(server.inputs()[2]?.resume).toMatchObject([{ payload: 'M' }])
    expect(kept()).not.toHaveProperty('interrupts')
    expect(textOfAnswer((await ask('hello')).answer)).toBe('Hello.')
    expect(server.inputs()[3]).toMatchObject({ messages: [{ content: 'hello' }] })
  })

  test('may repeat it again after a successful answer', async () => {
    const asking = waiting({ id: 'i1', message: 'Which size?' })
    const { ask } = await openAgui([asking, failed, asking, failed])
    await ask('order')
    await ask('L')
    expect(textOfAnswer((await ask('M')).answer)).toBe('Which size?')
    expect(textOfAnswer((await ask('S')).answer)).toContain('Please answer again.')
  })

  test('keeps its question while it is unreachable, so that another try resumes', async () => {
    const { ask, kept } = await openAgui([waiting({ id: 'i1', message: 'Which size?' }), { status: 503, body: {} }])
    await ask('order')
    const before = kept()
    await expect(ask('L')).rejects.toThrow('503')
    expect(kept()).toBe(before)
  })
})

test('the answer to a question of an earlier release reaches its interrupt', async () => {
  const { ask, server } = await openAgui([runOf(textEvent('Done.'))], {}, { interrupts: ['i1'] } as Json)
  await ask('yes')
  expect(server.inputs()[0]?.resume).toEqual([{ interruptId: 'i1', status: 'resolved', payload: 'yes' }])
})
