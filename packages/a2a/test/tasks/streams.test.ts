import type { Agent, AgentChunk, Store } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { replayExtension } from '../../src/endpoint/extensions.ts'
import type { A2aTestGateway, A2aTestGatewayOptions } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import type { OpenEventStream, StreamOptions, TestEvent } from '../setup/sse.ts'
import { openStream, readStream } from '../setup/sse.ts'

/** The gates by name. An agent continues when the test opens the next one. */
const semaphores = new Map<string, PromiseWithResolvers<void>>()
function semaphore(name: string): PromiseWithResolvers<void> {
  const semaphore = semaphores.get(name) ?? Promise.withResolvers<void>()
  semaphores.set(name, semaphore)
  return semaphore
}

const textPart = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

/** The scripts of the agent. A message `<script> <name>` names the script, and the gates at which it waits. */
const scripts: Readonly<Record<string, (name: string, signal: AbortSignal) => AsyncIterable<AgentChunk>>> = {
  async *chunks(name) {
    yield textPart('one ')
    yield textPart('two ')
    await semaphore(`${name}-1`).promise
    yield textPart('three')
  },
  async *count() {
    for (const word of ['one ', 'two ', 'three ', 'four']) yield textPart(word)
  },
  async *work(name) {
    yield { status: 'working' }
    await semaphore(`${name}-1`).promise
    yield { status: 'completed', parts: [textPart('done')] }
  },
  async *interim(name) {
    yield { status: 'working', parts: [textPart('looking it up')] }
    await semaphore(`${name}-1`).promise
    yield textPart('found')
  },
  async *slow(name) {
    yield textPart('first')
    await semaphore(`${name}-1`).promise
  },
  async *later(name) {
    await semaphore(`${name}-1`).promise
    yield textPart('one ')
    await semaphore(`${name}-2`).promise
    yield textPart('two')
  },
  async *ask() {
    yield { status: 'input_required', parts: [textPart('which one?')] }
  },
  async *hang(_, signal) {
    yield textPart('wait')
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  },
  async *throws() {
    yield textPart('half')
    throw new Error('db password is hunter2')
  },
  async *message() {
    yield { as: 'message', parts: [textPart('just this')] }
  },
  async *odd() {
    yield textPart('a\r\nb\ndata: c\u2028d\u2029\u0085\r\n\r\nevent: x')
  },
  async *flood(name) {
    for (let index = 0; index < 40; index += 1) yield textPart('x'.repeat(100_000))
    await semaphore(`${name}-1`).promise
  },
}

const scriptedAgent: Agent = {
  handle({ parts }, { signal }) {
    const [script = '', name = ''] = joinTextParts(parts).split(' ')
    return scripts[script]?.(name, signal) ?? { parts: [textPart(`heard: ${script}`)] }
  },
}

/** Opens a gateway that counts the listeners of the protocol at its store. */
async function openWatched(options: A2aTestGatewayOptions) {
  let count = 0
  const watchStore = (store: Store): Store => ({
    ...store,
    listen(topic, listener) {
      count += 1
      const stopListening = store.listen(topic, listener)
      return () => {
        count -= 1
        stopListening()
      }
    },
  })
  return { gateway: await openA2aGateway({ ...options, watchStore }), listening: () => count }
}

let gateway: A2aTestGateway
let countListeners: () => number
let bob: string
let unique = 0

beforeAll(async () => {
  ;({ gateway, listening: countListeners } = await openWatched({
    agents: { desk: scriptedAgent },
    config: { limits: { streams_per_caller: 20, body_bytes: 100_000 } },
  }))
  bob = await gateway.issuer.sign({ sub: 'bob' })
})
afterAll(() => gateway.close())

function message(text: string, overrides: object = {}) {
  unique += 1
  return { message: { messageId: `s-${unique}`, role: 'ROLE_USER', parts: [{ text }], ...overrides } }
}

const send = (text: string, options?: StreamOptions, overrides?: object, server = gateway) =>
  openStream(server, 'SendStreamingMessage', message(text, overrides), options)
const subscribe = (id: string, options?: StreamOptions, server = gateway) =>
  openStream(server, 'SubscribeToTask', { id }, options)

// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
function brief(event: any): string {
  if (event.task) return `task ${event.task.status.state.slice(11)}`.replace(/ (SUBMITTED|WORKING)$/, '')
  if (event.statusUpdate) return `status ${event.statusUpdate.status.state.slice(11)}`
  const { artifact, append, lastChunk } = event.artifactUpdate
  return `artifact ${JSON.stringify(artifact.parts[0].text)}${append ? ' append' : ''}${lastChunk ? ' last' : ''}`
}

/** Returns true if an event only says that work has begun. The task itself may say it already. */
const isStart = (event: string) => event === 'status WORKING' || event === 'status SUBMITTED'

async function readEvents(stream: OpenEventStream, count: number): Promise<readonly string[]> {
  const events: string[] = []
  while (events.length < count) {
    const event = await stream.next()
    if (!event) return [...events, 'end']
    if (!isStart(brief(event.data))) events.push(brief(event.data))
  }
  return events
}

/** Leaves out the mark of the last piece of an artifact. It depends on the time: if no more pieces came for a while, the status ends the artifact. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
function briefly(events: readonly any[]): readonly string[] {
  return events.map(event => brief(event).replace(/^(artifact .*) last$/, '$1'))
}

/** Returns the events of a stream in brief, without those that only say that work has begun. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
const withoutStart = (events: readonly any[] | undefined) => briefly(events ?? []).filter(event => !isStart(event))

// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
async function readFirst(stream: OpenEventStream): Promise<any> {
  const event = await stream.next()
  if (!event) throw new Error('the stream has ended')
  return event.data
}

/** Returns the task in the form that a client has after a stream: its first state, changed by each update. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
function reduce(events: readonly any[]): any {
  const [first, ...rest] = events
  const task = structuredClone(first.task)
  for (const { statusUpdate, artifactUpdate } of rest) {
    if (statusUpdate) task.status = statusUpdate.status
    if (!artifactUpdate) continue
    const { artifact, append } = artifactUpdate
    task.artifacts ??= []
    const existingArtifact = task.artifacts.find(
      ({ artifactId }: { artifactId: string }) => artifactId === artifact.artifactId,
    )
    if (!existingArtifact) task.artifacts.push(structuredClone(artifact))
    else if (append) existingArtifact.parts.push(...artifact.parts)
    else existingArtifact.parts = artifact.parts
  }
  for (const { parts } of task.artifacts ?? []) {
    parts.splice(0, parts.length, {
      text: parts.map(({ text }: { text: string }) => text).join(''),
      mediaType: 'text/plain',
    })
  }
  return task
}

describe.each([
  ['JSON-RPC', { binding: 'rpc' }],
  ['HTTP+JSON', { binding: 'rest' }],
] as const)('SendStreamingMessage over %s', (_, options) => {
  test('begins with the task, ends with its end, and is an event stream (CORE-STREAM-001, -003, MN-3)', async () => {
    const stream = await send('hello', options)
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    const events = await stream.events()
    expect(withoutStart(events)).toEqual(['task', 'artifact "heard: hello"', 'status COMPLETED'])
    const { id } = events[0].task
    const { body } = await gateway.rpc('GetTask', { id, historyLength: 0 })
    expect(reduce(events)).toEqual(body.result)
  })

  test('sends the agent’s chunks as they come, and marks the last one', async () => {
    const name = `chunks-${options.binding}`
    const stream = await send(`chunks ${name}`, options)
    expect(await readEvents(stream, 3)).toEqual(['task', 'artifact "one "', 'artifact "two " append'])
    semaphore(`${name}-1`).resolve()
    const events = await stream.events()
    expect(briefly(events)).toEqual(['artifact "three" append', 'status COMPLETED'])
    const { taskId } = events.at(-1).statusUpdate
    const { artifacts } = (await gateway.rpc('GetTask', { id: taskId })).body.result
    expect(artifacts).toEqual([
      {
        artifactId: events[0].artifactUpdate.artifact.artifactId,
        parts: [{ text: 'one two three', mediaType: 'text/plain' }],
      },
    ])
  })

  test('sends no empty part: after a pause only the status ends the artifact', async () => {
    const name = `pause-${options.binding}`
    const stream = await send(`slow ${name}`, options)
    expect(await readEvents(stream, 2)).toEqual(['task', 'artifact "first"'])
    semaphore(`${name}-1`).resolve()
    expect((await stream.events()).map(brief)).toEqual(['status COMPLETED'])
  })

  test('sends a bare message of an agent as a task, never both (CORE-STREAM-002)', async () => {
    const events = (await (await send('message', options)).events()) ?? []
    expect(withoutStart(events)).toEqual(['task', 'artifact "just this"', 'status COMPLETED'])
    expect(events.filter(event => 'message' in event)).toEqual([])
  })

  test('sends interim messages as a status, and ends with a question', async () => {
    const name = `interim-${options.binding}`
    const stream = await send(`interim ${name}`, options)
    let interimEvent = await readFirst(stream)
    while (!interimEvent.statusUpdate?.status.message) interimEvent = await readFirst(stream)
    expect(interimEvent.statusUpdate.status).toMatchObject({
      state: 'TASK_STATE_WORKING',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'looking it up' }] },
    })
    semaphore(`${name}-1`).resolve()
    expect(briefly(await stream.events())).toEqual(['artifact "found"', 'status COMPLETED'])
    const events = await (await send('ask', options)).events()
    expect(withoutStart(events)).toEqual(['task', 'status INPUT_REQUIRED'])
    expect(events.at(-1).statusUpdate.status.message.parts[0].text).toBe('which one?')
  })

  test('streams a follow-up to a question in the same task', async () => {
    const questionEvents = await (await send('ask', options)).events()
    const { id: taskId } = questionEvents[0].task
    const events = await (await send('hello', options, { taskId })).events()
    expect(events[0].task.id).toBe(taskId)
    expect(withoutStart(events).slice(1)).toEqual(['artifact "heard: hello"', 'status COMPLETED'])
  })

  test('ends with FAILED and a neutral text if the agent throws', async () => {
    const events = await (await send('throws', options)).events()
    expect(brief(events.at(-1))).toBe('status FAILED')
    expect(JSON.stringify(events)).not.toContain('hunter2')
  })

  test('sends text with line breaks and U+2028 as one event (A2A-S06)', async () => {
    const events = await (await send('odd', options)).events()
    expect(reduce(events).artifacts[0].parts[0].text).toBe('a\r\nb\ndata: c\u2028d\u2029\u0085\r\n\r\nevent: x')
  })

  test('sends one line per event for an id with line separators (A2A-S06)', async () => {
    const message = { messageId: `id-${options.binding ?? 'rpc'}`, role: 'ROLE_USER', parts: [{ text: 'hello' }] }
    const id = 'a\u2028b\u0085'
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'SendStreamingMessage', params: { message } })
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      authorization: `Bearer ${gateway.token}`,
    }
    const stream = readStream(await gateway.channel.endpoint.routes.request('/a2a', { method: 'POST', headers, body }))
    for (const event of await stream.events()) expect(event.id).toBe(id)
  })

  test('ends with CANCELED after a cancel, and a late answer changes nothing (A2A-T06, A2A-T07)', async () => {
    const stream = await send('hang', options)
    const first = await readFirst(stream)
    const { id } = first.task
    await stream.next()
    await gateway.rpc('CancelTask', { id })
    const events = await stream.events()
    expect(brief(events.at(-1))).toBe('status CANCELED')
    expect((await gateway.rpc('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_CANCELED')
  })
})

describe('SubscribeToTask', () => {
  test.each<StreamOptions>([{ binding: 'rpc' }, { binding: 'rest', verb: 'GET' }, { binding: 'rest', verb: 'POST' }])(
    'shows the task first and lasts until its end: %o (STREAM-SUB-001, -002)',
    async options => {
      const name = `sub-${options.binding}-${options.verb ?? 'POST'}`
      const sender = await send(`work ${name}`)
      const { id } = (await readFirst(sender)).task
      const stream = await subscribe(id, options)
      expect(await readEvents(stream, 1)).toEqual(['task'])
      semaphore(`${name}-1`).resolve()
      const events = await stream.events()
      expect(withoutStart(events)[0]).toBe('artifact "done"')
      expect(withoutStart(events).at(-1)).toBe('status COMPLETED')
      expect((await sender.events()).slice(-2)).toEqual(events.slice(-2))
    },
  )

  test('for an ended task gets a refusal as an ordinary answer (A2A-S01, STREAM-SUB-003)', async () => {
    const { id } = (await gateway.sendText('hello')).body.result.task
    const rpc = await gateway.rpc('SubscribeToTask', { id })
    expect(rpc.body.error).toMatchObject({ code: -32004, message: 'Cannot SubscribeToTask: the task has ended' })
    const restAnswer = await gateway.request(`/a2a/rest/tasks/${id}:subscribe`, {
      headers: { 'a2a-version': '1.0', authorization: `Bearer ${gateway.token}` },
    })
    expect([restAnswer.status, restAnswer.headers.get('content-type')]).toEqual([400, 'application/a2a+json'])
  })

  test('for the task of another caller gets the answer for no task (A2A-T02, STREAM-SUB-004)', async () => {
    const stream = await send('hang')
    const { id } = (await readFirst(stream)).task
    const foreign = await gateway.rpc('SubscribeToTask', { id }, { token: bob })
    const unknown = await gateway.rpc('SubscribeToTask', { id: '00000000-0000-4000-8000-000000000000' }, { token: bob })
    expect(foreign.text).toBe(unknown.text)
    expect(foreign.body.error?.code).toBe(-32001)
    await gateway.rpc('CancelTask', { id })
  })

  test('shows a late listener the current state, then the same events as others (A2A-S08, STREAM-ORDER-001..003)', async () => {
    const sender = await send('chunks late')
    const { id } = (await readFirst(sender)).task
    expect(await readEvents(sender, 2)).toEqual(['artifact "one "', 'artifact "two " append'])
    const [one, two] = [await subscribe(id), await subscribe(id, { binding: 'rest' })]
    const snapshot = await readFirst(one)
    expect(snapshot.task.status.state).toBe('TASK_STATE_WORKING')
    expect(snapshot.task.artifacts[0].parts).toEqual([{ text: 'one two ', mediaType: 'text/plain' }])
    expect(await readFirst(two)).toEqual(snapshot)
    semaphore('late-1').resolve()
    const [first, second, third] = await Promise.all([sender.events(), one.events(), two.events()])
    expect(briefly(first)).toEqual(['artifact "three" append', 'status COMPLETED'])
    expect(second).toEqual(first)
    expect(third).toEqual(first)
    expect(reduce([snapshot, ...second]).artifacts[0].parts[0].text).toBe('one two three')
  })

  test('survives a question and streams the follow-up', async () => {
    const { id } = (await gateway.sendText('ask')).body.result.task
    const stream = await subscribe(id)
    expect(await readEvents(stream, 1)).toEqual(['task INPUT_REQUIRED'])
    await gateway.sendText('hello', { taskId: id })
    const events = await stream.events()
    expect(withoutStart(events)).toEqual(['artifact "heard: hello"', 'status COMPLETED'])
  })

  test('streams a follow-up while the agent writes the answer', async () => {
    const { id } = (await gateway.sendText('ask')).body.result.task
    const stream = await subscribe(id)
    expect(await readEvents(stream, 1)).toEqual(['task INPUT_REQUIRED'])
    await gateway.sendText('later follow-up', { taskId: id }, { configuration: { returnImmediately: true } })
    semaphore('follow-up-1').resolve()
    expect(await readEvents(stream, 1)).toEqual(['artifact "one "'])
    semaphore('follow-up-2').resolve()
    expect(withoutStart(await stream.events())).toEqual(['artifact "two" append', 'status COMPLETED'])
  })

  test('shows an answered question in the history, and no longer in the status', async () => {
    const { id } = (await gateway.sendText('ask')).body.result.task
    await gateway.sendText('later answered', { taskId: id }, { configuration: { returnImmediately: true } })
    const { status, history } = (await gateway.rpc('GetTask', { id })).body.result
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(status.state)
    expect(status).not.toHaveProperty('message')
    const texts = history.map(({ parts }: { parts: readonly { text: string }[] }) => parts[0]?.text)
    expect(texts).toEqual(['ask', 'which one?', 'later answered'])
    semaphore('answered-1').resolve()
    semaphore('answered-2').resolve()
  })

  test('continues from the store after a lost notification (A2A-S07)', async () => {
    const { store } = gateway
    const { listen } = store
    const { id } = (await gateway.sendText('work lost', {}, { configuration: { returnImmediately: true } })).body.result
      .task
    store.listen = (topic, listener) => (topic === 'work' ? listen(topic, listener) : () => undefined)
    const stream = await subscribe(id).finally(() => {
      store.listen = listen
    })
    await stream.next()
    semaphore('lost-1').resolve()
    const events = await stream.events()
    expect(events.map(brief).at(-1)).toBe('status COMPLETED')
    expect(events.map(brief)).toContain('artifact "done" last')
  })

  test('sends the whole artifact after a lost chunk, instead of only the rest (A2A-S07)', async () => {
    const loseSecondPiece = (store: Store): Store => ({
      ...store,
      listen: (topic, listener) =>
        store.listen(topic, notice => {
          if ((notice as { readonly index?: number } | undefined)?.index !== 1) listener(notice)
        }),
    })
    const losingGateway = await openA2aGateway({ agents: { desk: scriptedAgent }, watchStore: loseSecondPiece })
    const events = await (await send('count', {}, {}, losingGateway)).events()
    // The first piece may be sent before the end or not, depending on time.
    const artifacts = withoutStart(events).filter(event => event.startsWith('artifact') && event !== 'artifact "one "')
    expect(artifacts).toEqual(['artifact "one two three four"'])
    const { body } = await losingGateway.rpc('GetTask', { id: events[0].task.id, historyLength: 0 })
    expect(reduce(events)).toEqual(body.result)
    await losingGateway.close()
  })
})

describe('abandoned streams and refused callers', () => {
  test('an abort frees its listener at once, without effect on the task and others (A2A-S03, STREAM-ORDER-004)', async () => {
    const sender = await send('slow abort')
    const { id } = (await readFirst(sender)).task
    const streams = await Promise.all(Array.from({ length: 10 }, () => subscribe(id)))
    await Promise.all(streams.map(stream => stream.next()))
    expect(countListeners()).toBeGreaterThan(0)
    await Promise.all(streams.slice(1).map(stream => stream.abort()))
    semaphore('abort-1').resolve()
    expect((await streams[0]?.events())?.map(brief).at(-1)).toBe('status COMPLETED')
    expect((await sender.events()).map(brief).at(-1)).toBe('status COMPLETED')
    expect(countListeners()).toBe(0)
  })

  test('a thousand aborted streams leave no listener (A2A-S03)', async () => {
    const watchedGateway = await openWatched({
      agents: { desk: scriptedAgent },
      config: { limits: { streams_per_caller: 2_000 } },
    })
    const open = watchedGateway.gateway
    const first = await send('hang', {}, {}, open)
    const { id } = (await readFirst(first)).task
    const streams = await Promise.all(Array.from({ length: 1_000 }, () => subscribe(id, {}, open)))
    await Promise.all(streams.map(stream => stream.abort()))
    expect(watchedGateway.listening()).toBeGreaterThan(0)
    await first.abort()
    expect(watchedGateway.listening()).toBe(0)
    await open.rpc('CancelTask', { id })
    await open.close()
  })

  test('the gateway drops a client that does not read when too much waits for it (A2A-S04)', async () => {
    const lazy = await gateway.channel.endpoint.routes.request('/a2a', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${gateway.token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: message('flood lazy') }),
    })
    const reader = lazy.body?.getReader()
    semaphore('lazy-1').resolve()
    await expect.poll(() => gateway.receivedMessages.at(-1)?.id).toBe(`s-${unique}`)
    const { body } = await gateway.rpc('ListTasks', { status: 'TASK_STATE_WORKING' })
    expect(body.error).toBeUndefined()
    await expect(reader?.closed).rejects.toThrow('reads too slowly')
  })

  test('a caller cannot open more streams than the limit, separately from other callers (A2A-S05)', async () => {
    const sender = await send('slow cap')
    const { id } = (await readFirst(sender)).task
    const streams = await Promise.all(Array.from({ length: 19 }, () => subscribe(id)))
    const refusal = await gateway.rpc('SubscribeToTask', { id })
    expect([refusal.status, refusal.body.error?.message]).toEqual([
      429,
      'Cannot open stream: the caller has too many open',
    ])
    expect(refusal.headers.get('retry-after')).toBe('10')
    const otherStream = await send('hello', { token: bob })
    expect((await otherStream.events()).length).toBeGreaterThan(1)
    await streams[0]?.abort()
    const nextStream = await subscribe(id)
    expect(nextStream.status).toBe(200)
    semaphore('cap-1').resolve()
    await Promise.all([...streams.slice(1), nextStream, sender].map(stream => stream.events()))
  })

  test('a client that leaves an ended stream frees its slot once (A2A-S05)', async () => {
    const smallGateway = await openA2aGateway({
      agents: { desk: scriptedAgent },
      config: { limits: { streams_per_caller: 2 } },
    })
    const runningStream = await send('hang', {}, {}, smallGateway)
    const { id } = (await readFirst(runningStream)).task
    const unread = await send('hello', {}, {}, smallGateway)
    const subscribeStatus = async () => (await subscribe(id, {}, smallGateway)).status
    // The end of one stream makes room for another.
    await expect.poll(subscribeStatus).toBe(200)
    await unread.abort()
    expect(await subscribeStatus()).toBe(429)
    await smallGateway.rpc('CancelTask', { id })
    await smallGateway.close()
  })

  test('a shutdown ends every stream cleanly, and a later subscription shows the task (A2A-S07)', async () => {
    const closingGateway = await openA2aGateway({ agents: { desk: scriptedAgent } })
    const stream = await send('hang', {}, {}, closingGateway)
    const { id } = (await readFirst(stream)).task
    closingGateway.channel.endpoint.release?.()
    const events = await stream.events()
    expect(events.map(brief)).not.toContain('status FAILED')
    const refusal = await closingGateway.rpc('SubscribeToTask', { id })
    expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await closingGateway.rpc('GetTask', { id })).body.result.id).toBe(id)
    await closingGateway.close()
  })

  test('a stream without events sends heartbeats, and ends at its time limit', async () => {
    const idle = await openA2aGateway({
      agents: { desk: scriptedAgent },
      config: { limits: { stream_idle_seconds: 3_600 } },
    })
    const first = await send('hang', {}, {}, idle)
    const { id } = (await readFirst(first)).task
    idle.system.speedUpClock(500)
    const events = first.events()
    await expect.poll(first.beats).toBeGreaterThan(2)
    idle.system.advance(3_600_000)
    expect((await events).map(brief)).not.toContain('status COMPLETED')
    await idle.rpc('CancelTask', { id })
    await idle.close()
  })
})

test.each(['rpc', 'rest'] as const)(
  'a stream over %s ends with its token, and goes on with a new one',
  async binding => {
    const expiringGateway = await openA2aGateway({
      agents: { desk: scriptedAgent },
      config: { auth: { clock_tolerance_seconds: 60 } },
    })
    const stream = await send(`slow expiry-${binding}`, { binding }, {}, expiringGateway)
    const { id } = (await readFirst(stream)).task
    const endTimes: number[] = []
    const begin = expiringGateway.system.now()
    const ended = stream.events().then(events => {
      endTimes.push(expiringGateway.system.now() - begin)
      return events
    })
    expiringGateway.system.advance(350_000)
    await expiringGateway.system.sleep(600)
    expect(endTimes).toEqual([])
    expiringGateway.system.advance(11_000)
    expect((await ended).map(brief)).not.toContain('status COMPLETED')

    const token = await expiringGateway.issuer.sign()
    const again = await openStream(expiringGateway, 'SubscribeToTask', { id }, { binding, token })
    expect((await readFirst(again)).task.id).toBe(id)
    semaphore(`expiry-${binding}-1`).resolve()
    expect((await again.events()).map(brief)).toContain('status COMPLETED')
    await expiringGateway.close()
  },
)

describe('a client whose stream breaks off', () => {
  const headers = { 'a2a-extensions': replayExtension }

  test('continues after its Last-Event-ID without gaps or repeats', async () => {
    const sender = await send('chunks replay', { headers })
    expect(sender.headers.get('a2a-extensions')).toBe(replayExtension)
    const { id } = (await readFirst(sender)).task
    let last: TestEvent | undefined
    while (last?.data.artifactUpdate === undefined) last = await sender.next()
    await sender.abort()
    semaphore('replay-1').resolve()
    await expect.poll(async () => (await gateway.rpc('GetTask', { id })).body.result.status.state).toMatch('COMPLETED')
    const back = await subscribe(id, { headers: { ...headers, 'last-event-id': last.id ?? '' } })
    expect(briefly(await back.events())).toEqual([
      'artifact "two " append',
      'artifact "three" append',
      'status COMPLETED',
    ])
  })

  test('gets the task again for an unknown position', async () => {
    const sender = await send('slow unknown', { headers })
    const { id } = (await readFirst(sender)).task
    let last: TestEvent | undefined
    while (last?.data.artifactUpdate === undefined) last = await sender.next()
    const [epoch, count] = (last.id ?? '').split('-')
    const eventIds = [`0a-${count}`, `${epoch}-${Number(count) + 9}`, 'nonsense', '0a-99999999999999999999']
    const streams: OpenEventStream[] = []
    for (const eventId of eventIds)
      streams.push(await subscribe(id, { headers: { ...headers, 'last-event-id': eventId } }))
    semaphore('unknown-1').resolve()
    for (const stream of streams) expect(brief(await readFirst(stream))).toMatch(/^task/)
    for (const stream of [sender, ...streams]) await stream.events()
  })

  test('gets no event ids unless it uses them', async () => {
    const stream = await send('hello')
    expect((await stream.next())?.id).toBeUndefined()
    await stream.events()
  })
})

test('each of many simultaneous streams adds up to its task, for a second listener too', async () => {
  const busy = await openA2aGateway({
    agents: { desk: scriptedAgent },
    config: { limits: { streams_per_caller: 500 } },
  })
  semaphore('busy-1').resolve()
  const add = async (stream: OpenEventStream) => reduce(await stream.events())
  const senders = Array.from({ length: 100 }, async () => {
    const sender = await send('chunks busy', {}, {}, busy)
    const first = await readFirst(sender)
    const lateStream = await subscribe(first.task.id, {}, busy)
    const isOpen = lateStream.headers.get('content-type') === 'text/event-stream'
    const [events, second] = await Promise.all([sender.events(), isOpen ? add(lateStream) : undefined])
    const task = reduce([first, ...events])
    const { body } = await busy.rpc('GetTask', { id: task.id, historyLength: 0 })
    expect(task).toEqual(body.result)
    if (second) expect({ ...second, history: undefined }).toEqual({ ...body.result, history: undefined })
  })
  await Promise.all(senders)
  await busy.close()
})

test('without streaming the gateway refuses it with an ordinary response (A2A-S02, CORE-CAP-002)', async () => {
  const withoutStreaming = await openA2aGateway({ config: { capabilities: { streaming: false } } })
  for (const [method, params] of [
    ['SendStreamingMessage', message('x')],
    ['SubscribeToTask', { id: 'x' }],
  ] as const) {
    const { status, body } = await withoutStreaming.rpc(method, params)
    expect([status, body.error?.code]).toEqual([200, -32004])
  }
  expect(withoutStreaming.receivedMessages).toEqual([])
  await withoutStreaming.close()
})

test('an error before the first event is an ordinary response (STREAM)', async () => {
  const { status, headers, body } = await gateway.rpc('SendStreamingMessage', message('x', { parts: [] }))
  expect([status, headers.get('content-type'), body.error?.code]).toEqual([200, 'application/json', -32602])
})

test('the stream of a repeated message runs the agent once (A2A-M12)', async () => {
  const params = message('hello')
  const first = await (await openStream(gateway, 'SendStreamingMessage', params)).events()
  const repeatedEvents = await (await openStream(gateway, 'SendStreamingMessage', params)).events()
  expect(repeatedEvents.map(brief)).toEqual(['task COMPLETED'])
  expect(repeatedEvents[0].task.id).toBe(first[0].task.id)
  expect(gateway.receivedMessages.filter(({ id }) => id === params.message.messageId)).toHaveLength(1)
})
