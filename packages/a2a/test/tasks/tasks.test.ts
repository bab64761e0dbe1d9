import type { Agent, TaskRecord } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aAnswer, A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'

/** An agent that ends its turn in the way that the message requests. */
const scriptedAgent: Agent = {
  async handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'throw') throw new Error('db password is hunter2 at /home/agent/secrets.ts:12')
    if (text === 'bad part') return { parts: [{ kind: 'text' }] } as never
    if (text === 'nothing') return undefined
    if (text === 'hang') {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const asText = [{ kind: 'text', mime: 'text/plain', content: `on ${text}` }] as const
    const status = (['input_required', 'rejected', 'failed', 'working'] as const).find(name => name === text)
    return { parts: [...asText], ...(status && { status }) }
  },
}

const unknownId = '00000000-0000-7000-8000-000000000000'

let gateway: A2aTestGateway
let bob: string

beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { desk: scriptedAgent, other: scriptedAgent } })
  bob = await gateway.issuer.sign({ sub: 'bob' })
})
afterAll(() => gateway.close())

/** Returns the answer of GetTask, and the ids that the store was asked for in the meantime. */
async function lookUp(id: string): Promise<{ readonly answer: object; readonly requestedIds: readonly string[] }> {
  const requestedIds: string[] = []
  const watchedGateway = await openA2aGateway({
    watchStore: store => ({
      ...store,
      findTask(key) {
        requestedIds.push(key.id)
        return store.findTask(key)
      },
    }),
  })
  const { body } = await watchedGateway.rpc('GetTask', { id })
  await watchedGateway.close()
  return { answer: body, requestedIds }
}

async function sendAndRead(text: string, message?: object): Promise<A2aAnswer['body']['result']> {
  return (await gateway.sendText(text, message)).body.result.task
}

describe('states of a task', () => {
  test.each([
    ['hello', 'TASK_STATE_COMPLETED', true],
    ['working', 'TASK_STATE_WORKING', true],
    ['input_required', 'TASK_STATE_INPUT_REQUIRED', false],
    ['rejected', 'TASK_STATE_REJECTED', false],
    ['failed', 'TASK_STATE_FAILED', false],
  ])('%s: %s', async (text, state, isResult) => {
    const task = await sendAndRead(text)
    const parts = [{ text: `on ${text}`, mediaType: 'text/plain' }]
    expect(task.status.state).toBe(state)
    expect(task.status.message?.parts).toEqual(isResult ? undefined : parts)
    expect(task.artifacts?.[0].parts).toEqual(isResult ? parts : undefined)
  })

  test('an agent without an answer completes its task', async () => {
    const task = await sendAndRead('nothing')
    expect(task.status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.any(String) })
    expect(task.artifacts).toBeUndefined()
  })

  test('an agent that throws gives a neutral text with a correlation id (A2A-T13)', async () => {
    const task = await sendAndRead('throw')
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(task.status.message.parts[0].text).toMatch(/^Sorry, this could not be answered\. Reference: [0-9a-f]{16}$/)
  })

  test('an agent that returns an invalid part fails its task, and the log says why (A2A-T14)', async () => {
    const task = await sendAndRead('bad part')
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    const failures = gateway.system.logged.filter(({ text }) => text === 'agent failed')
    expect(failures.map(({ fields }) => fields)).toContainEqual(expect.objectContaining({ agent: 'desk' }))
  })
})

describe('a blocking call', () => {
  test('returns at once when asked to', async () => {
    const { body } = await gateway.sendText('hang', {}, { configuration: { returnImmediately: true } })
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(body.result.task.status.state)
    await gateway.rpc('CancelTask', { id: body.result.task.id })
  })

  test('waits as long as the agent may take, and a little longer for the commit (A2A §3.2.2)', async () => {
    const slow: Agent = {
      async handle() {
        await new Promise(resolve => setTimeout(resolve, 700))
        return { parts: [{ kind: 'text', mime: 'text/plain', content: 'at last' }] }
      },
    }
    const profiles = { desk: { deadlineMs: 600 } }
    const patient = await openA2aGateway({ agents: { desk: slow }, profiles })
    const { task } = (await patient.sendText('hello')).body.result
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'at last' }] }],
    })
    await patient.close()
  })

  test('shows the current task when the agent’s deadline has long passed', async () => {
    const idle = await openA2aGateway({ runsWorker: false, pace: 20, profiles: { echo: { deadlineMs: 1_000 } } })
    const { body } = await idle.sendText('hello')
    expect(body.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
    await idle.close()
  })

  test('shows the current task after the configured wait', async () => {
    const idle = await openA2aGateway({ runsWorker: false, config: { limits: { wait_seconds: 0.2 } } })
    const { body } = await idle.sendText('hello')
    expect(body.result.task.status).toEqual({ state: 'TASK_STATE_SUBMITTED', timestamp: expect.any(String) })
    await idle.close()
  })

  const withoutEntries = ({ entries: _, ...task }: TaskRecord) => task
  test.each([
    ['no look, when the notice of the end has the task', withoutEntries, 0, 0],
    ['one look, when the notice has no task', () => undefined, 0, 1],
    ['one look, when the caller wants what was said and the notice lacks it', withoutEntries, 5, 1],
    ['no look, when the notice has that, too', (task: TaskRecord) => task, 5, 0],
  ])('costs the store %s', async (_, tell, historyLength, looks) => {
    let queryCount = 0
    const watchedGateway = await openA2aGateway({
      agents: { desk: scriptedAgent },
      watchStore: store => ({
        ...store,
        listen: (topic, listener) =>
          store.listen(topic, notice => {
            const { task, ...rest } = (notice ?? {}) as { readonly task?: TaskRecord }
            listener(task ? { ...rest, task: tell(task) } : notice)
          }),
        findTask(key) {
          queryCount += 1
          return store.findTask(key)
        },
      }),
    })
    const { body } = await watchedGateway.sendText('hello', {}, { configuration: { historyLength } })
    expect(body.result.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{}] })
    expect(body.result.task.history?.length).toBe(historyLength > 0 ? 1 : undefined)
    expect(queryCount).toBe(looks)
    await watchedGateway.close()
  })

  test('ends when the channel closes', async () => {
    const idle = await openA2aGateway({ runsWorker: false })
    const pendingAnswer = idle.sendText('hello')
    await expect.poll(async () => (await idle.store.count()).messages.received).toBe(1)
    idle.channel.endpoint.release?.()
    expect((await pendingAnswer).body.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
    await idle.close()
  })

  test('finds its answer even if the notification is lost', async () => {
    const { store } = gateway
    const { listen } = store
    store.listen = (topic, listener) => (topic === 'work' ? listen(topic, listener) : () => undefined)
    const task = await sendAndRead('hello').finally(() => {
      store.listen = listen
    })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('GetTask', () => {
  test('shows the same task as SendMessage (CORE-GET-001)', async () => {
    const result = await sendAndRead('hello')
    const { body } = await gateway.rpc('GetTask', { id: result.id, historyLength: 0 })
    expect(body.result).toEqual(result)
  })

  test('has a chronological history of at most the requested length with the original text (CORE-HIST)', async () => {
    const first = await sendAndRead('input_required', { messageId: 'h-1' })
    await sendAndRead('input_required', { messageId: 'h-2', taskId: first.id })
    await sendAndRead('hello', { messageId: 'h-3', taskId: first.id })
    const history = async (historyLength?: number) => {
      const { body } = await gateway.rpc('GetTask', { id: first.id, historyLength })
      return body.result.history?.map(({ role, parts }: { role: string; parts: { text: string }[] }) => [
        role.slice(5),
        parts[0]?.text,
      ])
    }
    const listedIds = [
      ['USER', 'input_required'],
      ['AGENT', 'on input_required'],
      ['USER', 'input_required'],
      ['AGENT', 'on input_required'],
      ['USER', 'hello'],
    ]
    expect(await history()).toEqual(listedIds)
    expect(await history(2)).toEqual(listedIds.slice(-2))
    expect(await history(100)).toEqual(listedIds)
    expect(await history(0)).toBeUndefined()
    const { body } = await gateway.rpc('GetTask', { id: first.id })
    expect(body.result.history[0]).toEqual({
      messageId: 'h-1',
      role: 'ROLE_USER',
      contextId: first.contextId,
      taskId: first.id,
      parts: [{ text: 'input_required', mediaType: 'text/plain' }],
    })
  })

  test.each([
    ['U+0000', 'a\u0000b'],
    ['a lone surrogate', '\ud800'],
    ['many characters', 'a'.repeat(100_000)],
    ['another version', '00000000-0000-1000-8000-000000000000'],
    ['nothing', ''],
  ])('finds no task for an id of %s, without asking the store', async (_, id) => {
    const read = await lookUp(id)
    expect(read.requestedIds).toEqual([])
    expect(read.answer).toEqual((await lookUp(unknownId)).answer)
  })

  test('asks the store only for an id of our own form', async () => {
    expect((await lookUp(unknownId)).requestedIds).toEqual([unknownId])
  })

  test('accepts members by their protobuf names, as ProtoJSON allows', async () => {
    const first = await sendAndRead('input_required')
    await sendAndRead('input_required', { task_id: first.id })
    const { body } = await gateway.rpc('GetTask', { id: first.id, history_length: 1 })
    expect(body.result.history).toHaveLength(1)
    expect((await gateway.rpc('ListTasks', { page_size: -1 })).body.error?.data[1].fieldViolations[0].field).toBe(
      'pageSize',
    )
  })

  test('matches SendMessage, which shows the history only with historyLength (CORE-HIST-003)', async () => {
    const { body } = await gateway.sendText('hello', {}, { configuration: { historyLength: 5 } })
    expect(body.result.task.history).toHaveLength(1)
    expect((await sendAndRead('hello')).history).toBeUndefined()
  })

  test.each([
    ['missing', {}, 'id', 'is required'],
    ['a number', { id: 5 }, 'id', 'must be a string'],
    [
      'historyLength "abc"',
      { id: unknownId, historyLength: 'abc' },
      'historyLength',
      'must be an integer from 0 to 2147483647',
    ],
  ])('refuses parameters: %s', async (_, params, field, description) => {
    const { body } = await gateway.rpc('GetTask', params)
    expect(body.error?.data[1].fieldViolations).toEqual([{ field, description }])
  })
})

describe('an unknown task, and a task of another caller (A2A-T01, A2A-T02)', () => {
  const operations = {
    GetTask: (id: string) => ({ id }),
    CancelTask: (id: string) => ({ id }),
    SendMessage: (taskId: string) => ({
      message: { messageId: 'foreign', taskId, role: 'ROLE_USER', parts: [{ text: 'x' }] },
    }),
  }
  test.each(Object.entries(operations))('get exactly the same answer from %s', async (method, params) => {
    const { id } = await sendAndRead('input_required')
    const unknown = await gateway.rpc(method, params(unknownId))
    expect([unknown.status, unknown.body.error?.code, unknown.body.error?.message]).toEqual([
      200,
      -32001,
      'Task not found',
    ])
    const foreign = await gateway.rpc(method, params(id), { token: bob })
    expect(foreign.text).toBe(unknown.text)
    expect([...foreign.headers]).toEqual([...unknown.headers])
    const atOtherAgent = await gateway.rpc(method, params(id), { path: '/agents/other/a2a' })
    expect(atOtherAgent.text).toBe(unknown.text)
  })

  test.each(['', 'x', '../../..', '%00', 'x'.repeat(10_000)])(
    'an unknown id gets "not found": %.20s (A2A-E22)',
    async id => {
      const { body } = await gateway.rpc('GetTask', { id })
      expect(body.error).toMatchObject({ code: -32001, message: 'Task not found' })
    },
  )
})

describe('a message to a task', () => {
  test('takes the context from it (CORE-MULTI-005)', async () => {
    const first = await sendAndRead('input_required')
    const next = await sendAndRead('hello', { taskId: first.id })
    expect([next.id, next.contextId, next.status.state]).toEqual([first.id, first.contextId, 'TASK_STATE_COMPLETED'])
  })

  test('fails when the task has ended (A2A-T03)', async () => {
    const { id } = await sendAndRead('hello')
    const { status, body } = await gateway.sendText('more', { taskId: id })
    expect([status, body.error?.code, body.error?.message]).toEqual([200, -32004, 'Cannot continue task: it has ended'])
  })

  test('gets the first answer again if the ended task already has it (A2A-M12)', async () => {
    const { id } = await sendAndRead('input_required')
    const last = await sendAndRead('hello', { messageId: 'm12-last', taskId: id })
    expect(await sendAndRead('hello', { messageId: 'm12-last', taskId: id })).toEqual(last)
  })

  test('fails with the context of another task, without naming the true one (A2A-T04)', async () => {
    const { id, contextId } = await sendAndRead('input_required')
    const { body, text } = await gateway.sendText('x', { taskId: id, contextId: 'another' })
    expect(body.error).toMatchObject({
      code: -32602,
      message: 'Cannot SendMessage: message.contextId is not the context of this task',
    })
    expect(text).not.toContain(contextId)
  })

  test('runs after an earlier simultaneous one, and none is missing (A2A-T08)', async () => {
    const { id } = await sendAndRead('input_required')
    await Promise.all([
      sendAndRead('input_required', { messageId: 't08-a', taskId: id }),
      sendAndRead('input_required', { messageId: 't08-b', taskId: id }),
    ])
    const { body } = await gateway.rpc('GetTask', { id })
    const messageIds = body.result.history.map(({ messageId }: { messageId: string }) => messageId)
    expect(messageIds).toEqual(expect.arrayContaining(['t08-a', 't08-b']))
    expect(body.result.history).toHaveLength(5)
    expect(body.result.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })
})

describe('contexts', () => {
  test('may have an id of the client, and its tasks share one thread', async () => {
    const one = await sendAndRead('hello', { contextId: 'chosen' })
    const two = await sendAndRead('hello', { contextId: 'chosen' })
    expect([one.contextId, two.contextId]).toEqual(['chosen', 'chosen'])
    expect(one.id).not.toBe(two.id)
    expect(gateway.receivedMessages.at(-1)?.thread_source).toBe('chosen')
    expect(gateway.receivedMessages.at(-1)?.history).toHaveLength(2)
  })

  test('of the gateway continues the thread of its first task', async () => {
    const firstResult = await sendAndRead('hello')
    expect(gateway.receivedMessages.at(-1)?.thread_source).toBe(firstResult.id)
    await sendAndRead('more', { contextId: firstResult.contextId })
    expect(gateway.receivedMessages.at(-1)?.thread_source).toBe(firstResult.id)
    expect(gateway.receivedMessages.at(-1)?.history).toHaveLength(2)
  })

  test('of another caller counts as unknown, without its history (A2A-T05)', async () => {
    await sendAndRead('secret plan', { contextId: 'shared-name' })
    const { body } = await gateway.sendText('hello', { contextId: 'shared-name' }, { token: bob })
    expect(body.result.task.contextId).toBe('shared-name')
    expect(gateway.receivedMessages.at(-1)?.history).toEqual([])
  })
})

describe('CancelTask', () => {
  test('ends an open task, and the agent learns of it (CORE-CANCEL-001)', async () => {
    const { body } = await gateway.sendText('hang', {}, { configuration: { returnImmediately: true } })
    const { id } = body.result.task
    const cancelAnswer = await gateway.rpc('CancelTask', { id })
    expect(cancelAnswer.body.result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect((await gateway.rpc('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_CANCELED')
  })

  test('ends a waiting call with the canceled task, which stays canceled (A2A-T07)', async () => {
    const pendingAnswer = gateway.sendText('hang', { messageId: 't07' })
    await expect.poll(() => gateway.receivedMessages.at(-1)?.id).toBe('t07')
    const { body } = await gateway.rpc('ListTasks', { status: 'TASK_STATE_WORKING' })
    const ids = body.result.tasks.map(({ id }: { id: string }) => id)
    for (const id of ids) await gateway.rpc('CancelTask', { id })
    expect((await pendingAnswer).body.result.task.status.state).toBe('TASK_STATE_CANCELED')
  })

  test('refuses a task that has ended (A2A-T06)', async () => {
    const { id } = await sendAndRead('hello')
    const { status, body } = await gateway.rpc('CancelTask', { id })
    expect([status, body.error?.code, body.error?.message]).toEqual([
      200,
      -32002,
      'Cannot CancelTask: the task has ended',
    ])
    expect(body.error?.data[0].reason).toBe('TASK_NOT_CANCELABLE')
  })

  test('succeeds for exactly one of two simultaneous cancels (A2A-T06)', async () => {
    const { id } = await sendAndRead('input_required')
    const answers = await Promise.all([gateway.rpc('CancelTask', { id }), gateway.rpc('CancelTask', { id })])
    expect(answers.map(({ body }) => body.error?.code).sort()).toEqual([-32002, undefined])
  })
})

describe('ListTasks', () => {
  let list: A2aTestGateway
  let carol: string
  const rpc = (params: object) => list.rpc('ListTasks', params, { token: carol })

  beforeAll(async () => {
    list = await openA2aGateway({ agents: { desk: scriptedAgent, other: scriptedAgent } })
    carol = await list.issuer.sign({ sub: 'carol' })
    for (const text of ['hello', 'rejected', 'hello', 'input_required', 'hello']) {
      list.system.advance(1_000)
      await list.sendText(text, { contextId: text }, { token: carol })
    }
    await list.sendText('hello', {}, { token: carol, path: '/agents/other/a2a' })
    await list.sendText('hello')
  })
  afterAll(() => list.close())

  const states = (answer: A2aAnswer) =>
    answer.body.result.tasks.map(({ status }: { status: { state: string } }) => status.state.replace('TASK_STATE_', ''))

  test('shows the caller’s own tasks with this agent, newest first, without artifacts (CORE-LIST)', async () => {
    const answer = await rpc({})
    expect(states(answer)).toEqual(['COMPLETED', 'INPUT_REQUIRED', 'COMPLETED', 'REJECTED', 'COMPLETED'])
    expect(answer.body.result).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 5 })
    for (const task of answer.body.result.tasks) {
      expect(task).not.toHaveProperty('artifacts')
      expect(task).not.toHaveProperty('history')
    }
  })

  test('needs no parameters', async () => {
    const { body } = await list.rpc('ListTasks', undefined, { token: carol })
    expect(body.result.totalSize).toBe(5)
  })

  test('returns artifacts and history on request', async () => {
    const { body } = await rpc({ includeArtifacts: true, historyLength: 1, pageSize: 1 })
    expect(body.result.tasks[0].artifacts[0].parts[0].text).toBe('on hello')
    expect(body.result.tasks[0].history[0].parts[0].text).toBe('hello')
  })

  test('filters by context and by state', async () => {
    expect(states(await rpc({ contextId: 'rejected' }))).toEqual(['REJECTED'])
    expect(states(await rpc({ status: 'TASK_STATE_INPUT_REQUIRED' }))).toEqual(['INPUT_REQUIRED'])
    const emptyAnswer = await rpc({ status: 'TASK_STATE_AUTH_REQUIRED' })
    expect(emptyAnswer.body.result).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  test.each<[string, object]>([
    ['page size 0', { pageSize: 0 }],
    ['state 0', { status: 0 }],
    ['no state', { status: 'TASK_STATE_UNSPECIFIED' }],
    ['empty texts', { status: '', contextId: '', pageToken: '', tenant: '' }],
    ['all of them in the names of the protobuf file', { page_size: 0, status: 'TASK_STATE_UNSPECIFIED' }],
  ])('treats %s as absent (proto3)', async (_, params) => {
    const { body } = await rpc(params)
    expect(body.result.totalSize).toBeGreaterThan(1)
    expect(body.result).toEqual((await rpc({})).body.result)
  })

  test.each([
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '0000-01-01T00:00:00Z',
    '2026-01-01T00:00:00+24:00',
  ])('refuses the statusTimestampAfter %s (A2A-T11)', async statusTimestampAfter => {
    const { body } = await rpc({ statusTimestampAfter })
    expect(body.error?.code).toBe(-32602)
  })

  test('includes a task exactly at statusTimestampAfter (A2A-T12)', async () => {
    const allTasks = (await rpc({})).body.result.tasks
    const { timestamp } = allTasks[2].status
    expect((await rpc({ statusTimestampAfter: timestamp })).body.result.tasks).toHaveLength(3)
    const laterTime = new Date(Date.parse(timestamp) + 1).toISOString()
    expect((await rpc({ statusTimestampAfter: laterTime })).body.result.tasks).toHaveLength(2)
  })

  test('has every task once in its pages, and ends with an empty token (CORE-LIST-002)', async () => {
    const seenIds: string[] = []
    let pageToken: string | undefined
    do {
      const { body } = await rpc({ pageSize: 2, pageToken })
      expect(body.result.totalSize).toBe(5)
      seenIds.push(...body.result.tasks.map(({ id }: { id: string }) => id))
      pageToken = body.result.nextPageToken
    } while (pageToken)
    expect(new Set(seenIds).size).toBe(5)
    expect(seenIds).toHaveLength(5)
  })

  test('includes every task from its first page, and tasks that begin or change meanwhile', async () => {
    const busy = await openA2aGateway({ agents: { desk: scriptedAgent } })
    const open = async () => {
      busy.system.advance(1_000)
      const { body } = await busy.sendText('hang', {}, { configuration: { returnImmediately: true } })
      return String(body.result.task.id)
    }
    const ids = [await open(), await open(), await open(), await open(), await open(), await open()]
    const seenIds: string[] = []
    let pageToken: string | undefined
    do {
      const { body } = await busy.rpc('ListTasks', { pageSize: 2, pageToken })
      seenIds.push(...body.result.tasks.map(({ id }: { id: string }) => id))
      pageToken = body.result.nextPageToken
      busy.system.advance(1_000)
      // After page 1, two tasks that are not listed yet move to the top, and a new one begins.
      if (seenIds.length > 2) continue
      for (const id of ids.slice(0, 2)) await busy.rpc('CancelTask', { id })
      ids.push(await open())
    } while (pageToken)
    expect(new Set(seenIds)).toEqual(new Set(ids))
    expect(seenIds).toHaveLength(ids.length)
    await busy.close()
  })

  test('includes every task that had the state of the filter at the first page, whatever its state is later', async () => {
    const busy = await openA2aGateway({ agents: { desk: scriptedAgent } })
    const ids: string[] = []
    for (let count = 0; count < 6; count += 1) {
      busy.system.advance(1_000)
      const { body } = await busy.sendText('hang', {}, { configuration: { returnImmediately: true } })
      ids.push(body.result.task.id)
    }
    const { status } = (await busy.rpc('ListTasks', {})).body.result.tasks[0]
    const seenIds: string[] = []
    let pageToken: string | undefined
    do {
      const { body } = await busy.rpc('ListTasks', { pageSize: 2, status: status.state, pageToken })
      const isFirstPage = pageToken === undefined
      seenIds.push(...body.result.tasks.map(({ id }: { id: string }) => id))
      pageToken = body.result.nextPageToken
      busy.system.advance(1_000)
      if (isFirstPage) for (const id of ids.slice(0, 4)) await busy.rpc('CancelTask', { id })
    } while (pageToken)
    expect(new Set(seenIds)).toEqual(new Set(ids))
    await busy.close()
  })

  test('ends a page before it grows too large, with at least one task', async () => {
    // The limits of text and of files are separate, so together they are more than a page may contain.
    const words = { kind: 'text', mime: 'text/plain', content: 'a'.repeat(4_000_000) } as const
    const data_base64 = Buffer.alloc(10_000_000).toString('base64')
    const file = { kind: 'file', name: 'a.bin', bytes_ref: { kind: 'inline', data_base64 } } as const
    const largeGateway = await openA2aGateway({ agents: { desk: { handle: () => ({ parts: [words, file] }) } } })
    for (let index = 0; index < 2; index += 1) {
      await largeGateway.sendText('hello', {}, { configuration: { returnImmediately: false } })
      largeGateway.system.advance(1_000)
    }
    const pagesOf = async (params: object) => {
      const first = (await largeGateway.rpc('ListTasks', params)).body.result
      const second = (await largeGateway.rpc('ListTasks', { ...params, pageToken: first.nextPageToken })).body.result
      expect(second.nextPageToken).toBe('')
      return [first, second].map(({ tasks }) => tasks.map(({ id }: { id: string }) => id))
    }
    const pages = await pagesOf({ includeArtifacts: true })
    expect(pages).toEqual([[expect.any(String)], [expect.any(String)]])
    expect(pages[0]).not.toEqual(pages[1])
    const { tasks } = (await largeGateway.rpc('ListTasks', {})).body.result
    expect(tasks, 'the answers are artifacts, which are not asked for here').toHaveLength(2)
    await largeGateway.close()
  })

  test.each([
    ['A2A-T09 pageSize -1', { pageSize: -1 }, 'pageSize'],
    ['A2A-T09 pageSize 101', { pageSize: 101 }, 'pageSize'],
    ['A2A-T09 pageSize "x"', { pageSize: 'x' }, 'pageSize'],
    ['A2A-T11 bad status', { status: 'done' }, 'status'],
    ['A2A-T11 status of 0.3', { status: 'input-required' }, 'status'],
    ['A2A-T11 bad timestamp', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    ['A2A-T11 timestamp a number', { statusTimestampAfter: 5 }, 'statusTimestampAfter'],
    ['A2A-T11 no such day', { statusTimestampAfter: '2026-13-45T00:00:00Z' }, 'statusTimestampAfter'],
    ['includeArtifacts "no"', { includeArtifacts: 'no' }, 'includeArtifacts'],
    ['A2A-T10 forged token', { pageToken: 'x' }, 'pageToken'],
    ['A2A-T10 token of 10 kB', { pageToken: 'x'.repeat(10_000) }, 'pageToken'],
  ])('%s', async (_, params, field) => {
    const { body } = await rpc(params)
    expect(body.error?.code).toBe(-32602)
    expect(body.error?.data[1].fieldViolations[0].field).toBe(field)
  })

  test('accepts a page token only from its owner with the same filters, unchanged (A2A-T10)', async () => {
    const { nextPageToken: pageToken } = (await rpc({ pageSize: 2 })).body.result
    const [at, ...rest] = pageToken.split('.')
    const alteredToken = [Number(at) + 1, ...rest].join('.')
    const refusals = [
      await rpc({ pageSize: 2, pageToken: alteredToken }),
      await rpc({ pageSize: 2, pageToken, status: 'TASK_STATE_COMPLETED' }),
      await list.rpc('ListTasks', { pageSize: 2, pageToken }),
      await list.rpc('ListTasks', { pageSize: 2, pageToken }, { token: carol, path: '/agents/other/a2a' }),
    ]
    for (const { body } of refusals) {
      expect(body.error).toMatchObject({
        code: -32602,
        message: 'Cannot ListTasks: pageToken does not belong to this list',
      })
    }
  })
})
