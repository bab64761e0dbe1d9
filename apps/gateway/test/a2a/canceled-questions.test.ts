import { describeSendRequest } from '@postern/simulation'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { replayAll } from '../replay/replay-gateway.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'
import { askWhy, listFacts } from '../why/ask-why.ts'
import { openAskingServer } from './asking-server.ts'

// These tests cancel a task, as an A2A client, while an agent waits for the answer to its question; the agent must learn of it.

/** The numbers of these states in the official client. */
const [completed, canceledState, inputRequired] = [3, 5, 6]

let server: Awaited<ReturnType<typeof openAskingServer>>
let gateway: TestGateway
let isAway = false
const closer = { use: '../agents/asking/closer.ts' }

beforeAll(async () => {
  server = await openAskingServer(({ messages, resume }) => {
    if (isAway && resume) return 503
    if (resume) return { text: 'Nothing is paid back.' }
    const consent = { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }
    const isConsent = JSON.stringify(messages.at(-1)).includes('consent')
    return { interrupts: [{ id: 'i1', message: 'Pay 20 euros back?', ...(isConsent && { responseSchema: consent }) }] }
  })
  gateway = await openTestGateway(() => ({
    agents: {
      clerk: { use: 'ag-ui', url: server.url },
      deaf: { use: 'ag-ui', url: server.url, receives: ['message'] },
      module: { ...closer, receives: ['message', 'cancel'] },
      listener: closer,
    },
  }))
})
beforeEach(() => {
  server.runs.length = 0
})
afterAll(async () => {
  await gateway.close()
  await server.close()
})

async function openClient(agent: string, transport?: 'JSONRPC' | 'HTTP+JSON') {
  const { a2a } = gateway.simulation
  const card = `${gatewayOrigin}/agents/${agent}/.well-known/agent-card.json`
  return a2a.client(card, await a2a.token({ sub: 'carol' }), { transport })
}

/** Sends the agent a text that makes it ask a question. */
async function sendMessage(agent: string, text = 'refund', transport?: 'JSONRPC' | 'HTTP+JSON') {
  const client = await openClient(agent, transport)
  const contextId = uniqueName('context')
  const task = await client.sendMessage(describeSendRequest(text, { contextId }))
  if (!('status' in task)) throw new Error('expected a task')
  expect(task.status?.state).toBe(inputRequired)
  const key = { tenant: '', id: task.id }
  return {
    id: task.id,
    say: (message: string) => client.sendMessage(describeSendRequest(message, { contextId, taskId: task.id })),
    cancel: () => client.cancelTask({ ...key, metadata: undefined }),
    get: () => client.getTask({ ...key, historyLength: undefined }),
  }
}

/** Returns the message that informed the agent of the canceled task, once its turn has ended. */
const findTold = (task: string) =>
  eventually(async () => {
    const record = await gateway.readMessage(`urn:postern:cancel:${task}`).catch(() => undefined)
    return record?.state !== 'received' && record?.state !== 'working' && record
  })

test.each([
  ['refund', 'JSONRPC'],
  ['refund', 'HTTP+JSON'],
  ['consent', 'JSONRPC'],
] as const)(
  'an AG-UI server learns that its caller canceled the task of its question (%s, %s)',
  async (text, transport) => {
    const task = await sendMessage('clerk', text, transport)
    const canceled = await task.cancel()
    expect(canceled.status?.state).toBe(canceledState)
    await expect.poll(() => server.runs.length).toBe(2)
    expect(server.runs[1]).toMatchObject({
      threadId: server.runs[0]?.threadId,
      resume: [{ interruptId: 'i1', status: 'cancelled' }],
    })
    const record = await findTold(task.id)
    expect(record).toMatchObject({
      state: 'answered',
      flags: ['task_canceled'],
      message: { kind: 'cancel', parts: [], sender: { address: '@carol@issuer.test', verified: true } },
      proofs: [{ kind: 'jwt', verdict: 'pass' }],
      response: { parts: [{ content: 'Nothing is paid back.' }] },
      deliveries: [],
    })
    // The caller receives nothing of the answer.
    expect(await task.get()).toEqual(canceled)
  },
)

test('the server learns once of a caller who cancels three times', async () => {
  const task = await sendMessage('clerk')
  const ends = await Promise.allSettled([task.cancel(), task.cancel(), task.cancel()])
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expect(task.cancel()).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
  await findTold(task.id)
  expect(server.runs).toHaveLength(2)
})

test('the server gets either the answer or the cancel when both come at the same time', async () => {
  const task = await sendMessage('clerk')
  const [answer, canceled] = await Promise.allSettled([task.say('Yes, please.'), task.cancel()])
  const state = (await task.get()).status?.state
  if (canceled.status === 'fulfilled') {
    expect(state).toBe(canceledState)
    await findTold(task.id)
    expect(server.runs.at(-1)).toMatchObject({ resume: [{ status: 'cancelled' }] })
  } else {
    expect([answer.status, state]).toEqual(['fulfilled', completed])
    expect(server.runs.at(-1)).toMatchObject({ resume: [{ status: 'resolved', payload: 'Yes, please.' }] })
  }
})

test('an unreachable server learns of the canceled task later, also after a restart of the gateway', async () => {
  const task = await sendMessage('clerk')
  isAway = true
  expect((await task.cancel()).status?.state).toBe(canceledState)
  await expect.poll(() => server.runs.length).toBeGreaterThan(1)
  await gateway.restart()
  isAway = false
  expect(await findTold(task.id)).toMatchObject({ state: 'answered' })
  expect(server.runs.at(-1)).toMatchObject({ resume: [{ interruptId: 'i1', status: 'cancelled' }] })
})

test('a replay repeats the cancel, and `why` explains it', async () => {
  const task = await sendMessage('module', 'question')
  await task.cancel()
  const record = await findTold(task.id)
  expect(record.response?.parts).toMatchObject([{ content: `closed: ${record.message.in_reply_to}` }])
  const reports = await replayAll(gateway)
  expect(reports.filter(({ outcome }) => outcome !== 'same')).toEqual([])
  expect(reports.some(({ message }) => message === record.number)).toBe(true)
  const [why] = (await askWhy(gateway, `#${record.number}`)).explanations
  expect(why).toMatchObject({ code: 'answered', sender: '@carol@issuer.test', agent: 'module' })
  expect(why && listFacts(why)).toContain('flags: task_canceled')
})

test.each(['deaf', 'listener'])('an agent that does not receive the kind `cancel` gets no call (%s)', async agent => {
  const countBefore = (await gateway.messages()).length
  const task = await sendMessage(agent)
  expect((await task.cancel()).status?.state).toBe(canceledState)
  expect((await gateway.messages()).length).toBe(countBefore + 1)
})
