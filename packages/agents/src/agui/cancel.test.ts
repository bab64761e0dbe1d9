import type { NormalizedMessage } from '@postern/message'
import { taskCanceledFlag } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openAgui } from '../../test/agui-agent.ts'
import { eventsOf, finished, runOf, textEvent } from '../../test/agui-server.ts'
import { testMessage } from '../../test/gateway.ts'
import { textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'

// These tests cancel a task of A2A in which a server waits for answers.

const approval = { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }
const waiting = (...interrupts: readonly object[]): ModelReply =>
  eventsOf(finished({ outcome: { type: 'interrupt', interrupts } }))
const size = { id: 'i1', message: 'Which size?' }
const refund = { id: 'i2', message: 'Refund?', responseSchema: approval }

const canceled = { flags: [taskCanceledFlag] }
const cancel = (in_reply_to = 'response-1', members: Partial<NormalizedMessage> = {}) =>
  testMessage('', { kind: 'cancel', parts: [], in_reply_to, ...members })

test('cancelling a task cancels all open interrupts, even one that the caller had answered', async () => {
  const { ask, server, kept } = await openAgui([waiting(size, refund), runOf(textEvent('Never mind.'))])
  await ask('order')
  await ask('L', { responseId: 'response-2' })
  expect(server.inputs()).toHaveLength(1)
  expect(textOfAnswer((await ask(cancel('response-2'), canceled)).answer)).toBe('Never mind.')
  expect(server.inputs()[1]?.resume).toEqual([
    { interruptId: 'i1', status: 'cancelled' },
    { interruptId: 'i2', status: 'cancelled' },
  ])
  expect(kept()).not.toHaveProperty('interrupts')
  expect((await ask(cancel('response-2'), canceled)).answer).toBeUndefined()
  expect(server.inputs()).toHaveLength(2)
})

test('cancelling declines an interrupt whose schema accepts only an approval', async () => {
  const rawEvent = { id: 'a'.repeat(32), response_schema: approval }
  const asking = eventsOf({ type: 'CUSTOM', name: 'on_interrupt', value: 'Refund?', rawEvent }, finished())
  const { ask, server } = await openAgui([asking, runOf(textEvent('Never mind.'))])
  await ask('refund')
  await ask(cancel(), canceled)
  expect(server.inputs()[1]).toMatchObject({ forwardedProps: { command: { resume: { approved: false } } } })
})

test('a caller may cancel even if the cancel request proves less of them than the original message', async () => {
  const { ask, server } = await openAgui([waiting(size), runOf(textEvent('Never mind.'))])
  await ask('order')
  const sender = { address: '@carol@peer.test', auth_method: 'none', verified: false }
  await ask(cancel('response-1', { sender }), canceled)
  expect(server.inputs()[1]?.resume).toEqual([{ interruptId: 'i1', status: 'cancelled' }])
})

test('cancelling one task leaves interrupts of other tasks open', async () => {
  const { ask, server } = await openAgui([waiting(refund), waiting(refund), runOf(textEvent('Done.'))])
  await ask('refund')
  await ask('refund, please!', { responseId: 'response-2' })
  expect((await ask(cancel('response-1'), canceled)).answer).toBeUndefined()
  expect(server.inputs()).toHaveLength(2)
  await ask(cancel('response-2'), canceled)
  expect(server.inputs()[2]?.resume).toEqual([{ interruptId: 'i2', status: 'cancelled' }])
})

test('the agent drops a new interrupt in reply to a cancel, and the next message starts a fresh run', async () => {
  const { ask, server, kept } = await openAgui([waiting(size), waiting(refund), waiting(refund)])
  await ask('order')
  const { answer } = await ask(cancel(), canceled)
  expect(JSON.stringify(answer ?? '')).not.toContain('Refund?')
  expect(kept()).not.toHaveProperty('interrupts')
  expect((await ask('hello')).answer?.status).toBe('input_required')
  expect(server.inputs()[2]).toMatchObject({ messages: [{ content: 'hello' }] })
})

test('the gateway retries a cancel after 503, and drops it after RUN_ERROR', async () => {
  const failed = eventsOf({ type: 'RUN_ERROR', message: 'hunter2' })
  const { ask, server, kept } = await openAgui([waiting(refund), { status: 503, body: {} }, failed])
  await ask('refund')
  await expect(ask(cancel(), canceled)).rejects.toThrow('503')
  expect(kept()).toHaveProperty('interrupts')
  expect((await ask(cancel(), canceled)).answer?.status).toBe('failed')
  expect(kept()).not.toHaveProperty('interrupts')
  expect(server.inputs()).toHaveLength(3)
})
