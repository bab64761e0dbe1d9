import { once } from 'node:events'
import { describeSendRequest, readSendResult } from '@postern/simulation'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SlowRun } from '../agents/waiting/slow.ts'
import { eventually, gatewayOrigin } from '../setup/gateway.ts'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'

// These tests cover messages that arrive while their agent works, over real sockets and with real signatures.

let gateway: SlowGateway
let thread = ''

beforeAll(async () => {
  gateway = await openSlowGateway(
    {
      queue: {},
      merge: { queue: 'merge' },
      patient: { queue: { mode: 'merge', window: '3s' } },
      interrupt: { queue: 'interrupt' },
      single: { concurrency: 1 },
    },
    { a2a: { limits: { wait_seconds: 20 } } },
  )
})
afterAll(() => gateway.close())
beforeEach(({ task }) => {
  thread = task.id
})

const post = (agent: string, text: string, from?: string) =>
  gateway.post(agent, text, { thread, ...(from && { from }) })

async function abortOf({ context: { signal } }: SlowRun): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort')
  return signal.reason
}

async function untilRecorded(id: string, state: string) {
  return eventually(async () => {
    const record = await gateway.readMessage(id)
    return record.state === state && record
  })
}

test('"queue" gives each message its turn, in order', async () => {
  await post('queue', 'one')
  const firstRun = await gateway.nextRun()
  await post('queue', 'two')
  await post('queue', 'three')
  firstRun.finish()
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toContain('two')
  secondRun.finish()
  const thirdRun = await gateway.nextRun()
  expect(thirdRun.words).toContain('three')
  thirdRun.finish()
  for (const text of ['one', 'two', 'three']) await gateway.awaitAnswer(`heard ${text}`)
})

test('"merge" gives messages of one sender in the meantime one turn and one answer, and the operator sees which', async () => {
  await post('merge', 'ada one')
  const firstRun = await gateway.nextRun()
  const objects = [await post('merge', 'ada two'), await post('merge', 'ada three'), await post('merge', 'ada four')]
  firstRun.finish()
  const run = await gateway.nextRun()
  expect(run.words).toBe('ada two + ada three + ada four')
  expect(run.message.merged?.map(({ part_count }) => part_count)).toEqual([1, 1])
  expect(run.context.history().turns.map(({ role }) => role)).toEqual(['user', 'assistant'])
  run.finish()
  const { activity } = await gateway.awaitAnswer('heard ada two')
  expect((activity.object as { inReplyTo: string }).inReplyTo).toBe(objects[2])
  const [secondId, , fourthId] = await Promise.all(
    [...(run.message.merged ?? []).map(({ id }) => id), run.message.id].map(id => untilRecorded(id, 'answered')),
  )
  expect(secondId?.merged_into).toBe(fourthId?.number)
  expect(secondId?.response?.id).toBe(fourthId?.response?.id)
  expect(gateway.answers().filter(text => text.includes('ada two'))).toHaveLength(1)
})

test('"merge" gives another sender in the same thread their own answer', async () => {
  const visibility = 'public'
  await gateway.post('merge', 'ben one', { thread, visibility })
  const firstRun = await gateway.nextRun()
  await gateway.post('merge', 'ben two', { thread, visibility })
  await gateway.post('merge', 'of another', { thread, visibility, from: 'bob@mastodon.test' })
  await gateway.post('merge', 'ben three', { thread, visibility })
  firstRun.finish()
  const texts: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const run = await gateway.nextRun()
    texts.push(run.words)
    run.finish()
  }
  expect(texts).toEqual(['ben two', 'of another', 'ben three'])
})

test('"merge" answers a sender only after their last message within the window', async () => {
  await post('patient', 'cat one')
  await post('patient', 'cat two')
  const run = await gateway.nextRun()
  expect(run.words).toBe('cat one + cat two')
  run.finish()
  await gateway.awaitAnswer('heard cat one')
})

test('"interrupt" stops the turn at a newer message, which starts at once and gets the only answer', async () => {
  await post('interrupt', 'dot one')
  const firstRun = await gateway.nextRun()
  await post('interrupt', 'dot two')
  expect(await abortOf(firstRun)).toMatchObject({ name: 'TurnAborted', kind: 'interrupted' })
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('dot two')
  expect(JSON.stringify(secondRun.context.history().turns)).toContain('dot one')
  firstRun.finish()
  secondRun.finish()
  await gateway.awaitAnswer('heard dot two')
  expect(await gateway.readMessage(firstRun.message.id)).toMatchObject({
    state: 'ignored',
    error: 'interrupted by a newer message',
    response: null,
  })
  expect(gateway.answers().filter(text => text.includes('dot one'))).toEqual([])
})

test('"interrupt" runs the agent a few times in a flood, and answers the newest message', async () => {
  const runs: SlowRun[] = []
  await post('interrupt', 'flood 0')
  for (let index = 1; index < 12; index += 1) {
    if (runs.length < 6) runs.push(await gateway.nextRun())
    await post('interrupt', `flood ${index}`)
  }
  expect(gateway.countRuns()).toBe(0)
  expect(runs.map(({ context }) => context.signal.aborted)).toEqual([true, true, true, true, true, false])
  for (const run of runs) run.finish()
  await gateway.awaitAnswer('heard flood 5')
  const newest = await gateway.nextRun()
  expect(newest.words).toBe('flood 11')
  newest.finish()
  await gateway.awaitAnswer('heard flood 11')
})

test('an agent reads only the edited text of a waiting message', async () => {
  await post('queue', 'eve one')
  const firstRun = await gateway.nextRun()
  const object = await post('queue', 'eve tow')
  expect(await gateway.edit('queue', object, 'eve two')).toBe(202)
  firstRun.finish()
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('eve two')
  secondRun.finish()
  const { activity } = await gateway.awaitAnswer('heard eve two')
  expect((activity.object as { inReplyTo: string }).inReplyTo).toBe(object)
  expect(gateway.countRuns()).toBe(0)
})

test('an edit during the answer stops the run, and the edited message gets the answer', async () => {
  const object = await post('queue', 'fay tow')
  const firstRun = await gateway.nextRun()
  expect(await gateway.edit('queue', object, 'fay two')).toBe(202)
  expect(await abortOf(firstRun)).toMatchObject({ name: 'TurnAborted', kind: 'edited' })
  const secondRun = await gateway.nextRun()
  expect([secondRun.words, secondRun.message.id]).toEqual(['fay two', firstRun.message.id])
  firstRun.finish()
  secondRun.finish()
  await gateway.awaitAnswer('heard fay two')
  const record = await untilRecorded(secondRun.message.id, 'answered')
  expect(record).toMatchObject({ flags: ['edited'], message: { parts: [{ content: 'fay two' }] } })
  expect(gateway.answers().filter(text => text.includes('fay tow'))).toEqual([])
})

test('a deletion during the answer stops the run, and the gateway sends no answer', async () => {
  const object = await post('queue', 'gus one')
  const firstRun = await gateway.nextRun()
  expect(await gateway.remove('queue', object)).toBe(202)
  expect(await abortOf(firstRun)).toMatchObject({ name: 'TurnAborted', kind: 'deleted' })
  firstRun.finish()
  await post('queue', 'gus two')
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('gus two')
  expect(JSON.stringify(secondRun.context.history().turns)).not.toContain('gus one')
  secondRun.finish()
  await gateway.awaitAnswer('heard gus two')
  expect(gateway.answers().filter(text => text.includes('gus one'))).toEqual([])
  expect(await gateway.readMessage(firstRun.message.id)).toMatchObject({
    state: 'failed',
    flags: ['deleted'],
    response: null,
  })
})

test('an agent with a concurrency of one has only one turn at a time, across all threads', async () => {
  await gateway.post('single', 'hal one', { thread: `${thread} 1` })
  const firstRun = await gateway.nextRun()
  await gateway.post('single', 'hal two', { thread: `${thread} 2` })
  await post('queue', 'hal other')
  const otherRun = await gateway.nextRun()
  expect(otherRun.words).toBe('hal other')
  otherRun.finish()
  await gateway.awaitAnswer('heard hal other')
  expect(gateway.countRuns()).toBe(0)
  firstRun.finish()
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('hal two')
  secondRun.finish()
})

/** Sends a message to the task of an earlier one, and resolves with the task once it is at rest. */
async function sendTask(agent: string, text: string, taskId?: string) {
  const { a2a } = gateway.simulation
  const client = await a2a.client(`${gatewayOrigin}/agents/${agent}/.well-known/agent-card.json`, await a2a.token())
  return readSendResult(await client.sendMessage(describeSendRequest(text, { taskId })))
}

/** Without a context of its own, a task is its own thread. */
const taskOf = ({ message }: SlowRun) => message.thread_source

async function untilStored(text: string) {
  return eventually(async () => (await gateway.messages()).find(({ preview }) => preview === text))
}

test('"merge" answers additions to a running A2A task together, for all waiting callers', async () => {
  const calls = [sendTask('merge', 'ivy one')]
  const firstRun = await gateway.nextRun()
  calls.push(sendTask('merge', 'ivy two', taskOf(firstRun)))
  await untilStored('ivy two')
  calls.push(sendTask('merge', 'ivy three', taskOf(firstRun)))
  await untilStored('ivy three')
  const pendingResult = sendTask('merge', 'ivy other')
  const apart = await gateway.nextRun()
  expect(apart.words).toBe('ivy other')
  apart.finish()
  expect((await pendingResult).text).toBe('heard ivy other')
  firstRun.finish()
  const run = await gateway.nextRun()
  expect(run.words).toBe('ivy two + ivy three')
  run.finish()
  const tasks = await Promise.all(calls)
  expect(new Set(tasks.map(({ taskId }) => taskId))).toEqual(new Set([taskOf(firstRun)]))
  expect(tasks.slice(1).map(({ state }) => state)).toEqual(['completed', 'completed'])
  expect(tasks[2]?.text).toContain('heard ivy two + ivy three')
})

test('"interrupt" gives the caller of an older message the answer to a newer one of the A2A task', async () => {
  const pendingResult = sendTask('interrupt', 'jan one')
  const firstRun = await gateway.nextRun()
  const secondResultPromise = sendTask('interrupt', 'jan two', taskOf(firstRun))
  expect(await abortOf(firstRun)).toMatchObject({ kind: 'interrupted' })
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('jan two')
  secondRun.finish()
  firstRun.finish()
  for (const task of await Promise.all([pendingResult, secondResultPromise])) {
    expect(task).toMatchObject({ taskId: taskOf(firstRun), state: 'completed', text: 'heard jan two' })
  }
})
