import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, gatewayOrigin } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import {
  findEvent,
  jpeg,
  openWebGateway,
  parseEvents,
  readEvents,
  typesOf,
  typesOfSpokenRun,
  uniqueName,
} from '../setup/web-gateway.ts'

// These tests cover the promises of the chat beyond the form of its streams: which data is stored and found again, and which events never
// happen.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({ trace: true })
})
afterAll(() => web.close())

const picture = (url: string, text = 'look at this') => [
  { type: 'text', text },
  { type: 'binary', mimeType: 'image/jpeg', url },
]

/** Returns everything that is on the gateway's disk. */
function readDisk(): string {
  const files = readdirSync(web.gateway.dataDir, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  return files.map(file => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n')
}

describe('the stored parts', () => {
  test('contain neither a signed URL nor its token, anywhere on the disk (C-05)', async () => {
    const threadId = uniqueName('thread')
    const { url, path } = await web.upload(jpeg, { threadId })
    await web.runChat(picture(url), { threadId })
    expect((await web.readHistory(threadId))[0]?.metadata.user_message_attachments.path).toBe(path)
    const disk = readDisk()
    expect(disk).toContain(`/storage/v1/object/sign/agent-inputs/${path}`)
    expect(disk).not.toContain(`${gatewayOrigin}/storage/`)
    expect(disk).not.toContain(new URL(url).searchParams.get('token')?.split('.')[1])
  })

  test('contain two attachments for a picture sent twice, one in each message (C-02)', async () => {
    const threads = [uniqueName('thread'), uniqueName('thread')]
    const paths: string[] = []
    for (const threadId of threads) {
      const { url, path } = await web.upload(jpeg, { threadId })
      paths.push(path)
      await web.runChat(picture(url), { threadId })
    }
    const histories = await Promise.all(threads.map(threadId => web.readHistory(threadId)))
    expect(histories.map(([first]) => first?.metadata.user_message_attachments.path)).toEqual(paths)
  })

  test('omit a refused run (C-14)', async () => {
    const threadId = uniqueName('thread')
    const messagesBefore = await web.gateway.messages()
    const messages = [{ id: uniqueName('msg'), role: 'user', content: 'durian' }]
    const refusal = await web.postRun({ threadId, messages })
    expect([refusal.status, refusal.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    expect(await web.gateway.messages()).toEqual(messagesBefore)
    expect((await web.requestAs(`/api/v1/agent/history?threadId=${threadId}`)).status).toBe(404)
    expect(readDisk()).not.toContain('durian')
  })

  // The answer fails by a mistake of the agent's, and by a model that disconnects.
  test.each(['boom', 'fade'])(
    'keep the streamed text of a failed answer (%s) with a mark, and the reason follows (C-16, TR-07)',
    async word => {
      const threadId = uniqueName('thread')
      const events = await web.runChat(word, { threadId })
      const message = ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']
      expect(typesOf(events)).toEqual(typesOfSpokenRun('RUN_ERROR').toSpliced(2, 0, ...message))
      const [, partialMessage, failureMessage, ...laterMessages] = await web.readHistory(threadId)
      expect(laterMessages).toEqual([])
      expect(partialMessage).toMatchObject({
        id: findEvent(events, 'TEXT_MESSAGE_START').messageId,
        role: 'assistant',
        content: 'half of ',
        metadata: { incomplete: true },
      })
      expect(failureMessage).toMatchObject({ role: 'assistant', content: findEvent(events, 'RUN_ERROR').message })
      expect(failureMessage?.metadata).not.toHaveProperty('incomplete')
      const next = await web.runChat('and now?', { threadId })
      expect(JSON.stringify(next)).toContain('you said: and now?; turns: 2')
    },
  )

  test('close the open call of a failed agent, and its step (C-16)', async () => {
    const threadId = uniqueName('thread')
    const events = await web.runChat('stumble', { threadId })
    expect(typesOf(events)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'STEP_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      // The history does not have the call.
      'STEP_FINISHED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'MESSAGES_SNAPSHOT',
      'RUN_ERROR',
    ])
    expect(events.flatMap(event => ('stepName' in event ? [event.stepName] : []))).toEqual([
      'execution',
      'tool_execution',
      'tool_execution',
      'execution',
    ])
    expect(JSON.stringify(events)).not.toContain('secret detail')
    expect((await web.readHistory(threadId)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test('omit a part that only names a file, with a warning, and keep its original form (C-11)', async () => {
    const content = [
      { type: 'text', text: 'look' },
      { type: 'binary', mimeType: 'image/png', id: 'upload-7' },
    ]
    const events = await web.runChat(content)
    expect(findEvent(events, 'CUSTOM')).toMatchObject({
      name: 'warning',
      value: 'a binary part without bytes or address was left out',
    })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    const [newest] = await web.gateway.messages()
    expect(JSON.stringify(await web.gateway.readMessage(newest?.id ?? ''))).toContain('upload-7')
  })

  test('have the same step data in the stream and in the history (C-19, C-32)', async () => {
    const threadId = uniqueName('thread')
    const events = await web.runChat('hello', { threadId, runId: 'run-of-the-step' })
    const { metadata } = findEvent(events, 'STEP_FINISHED')
    expect(metadata).toEqual({
      run_id: 'run-of-the-step',
      stage: 'execution',
      latency_ms: expect.any(Number),
      message_id: findEvent(events, 'TEXT_MESSAGE_START').messageId,
    })
    const [question, answerRow] = await web.readHistory(threadId)
    expect(answerRow?.metadata).toEqual(metadata)
    expect(Date.parse(answerRow?.timestamp ?? '') - Date.parse(question?.timestamp ?? '')).toBe(metadata.latency_ms)
  })
})

test('a signed URL works until it expires, and an expired one is not an attachment (C-06, C-09)', async () => {
  const brief = await openWebGateway({ attachments: { url_ttl: '8s' } })
  try {
    const { url, bucket, path, expires_at } = await brief.upload(jpeg)
    expect((await fetch(brief.local(url))).status).toBe(200)
    const expiredResponse = await eventually(async () => {
      const response = await fetch(brief.local(url))
      return response.status !== 200 && response
    })
    expect(expiredResponse.status).toBe(403)
    expect(await expiredResponse.json()).toMatchObject({
      code: 'forbidden',
      detail: 'Cannot read attachment: the URL is not valid or has expired',
    })
    expect(Date.parse(expires_at)).toBeLessThanOrEqual(Date.now())
    const threadId = uniqueName('thread')
    const events = await brief.runChat(picture(url, 'look'), { threadId })
    expect(JSON.stringify(events)).toContain('link https://agents.test/storage')
    expect((await brief.readHistory(threadId))[0]?.metadata).not.toHaveProperty('user_message_attachments')
    const query = new URLSearchParams({ bucket, path })
    const { json } = await brief.requestJson('GET', `/api/v1/agent/attachments/signed-url?${query}`)
    expect(json).toEqual({ bucket, path, url: expect.any(String), expires_at: expect.any(String) })
    expect(Buffer.from(await (await fetch(brief.local(json.url))).arrayBuffer())).toEqual(jpeg)
  } finally {
    await brief.close()
  }
})

describe('streams', () => {
  test('begin and end correctly with the input’s ids, and use ms in the stream but ISO in the history (C-12, C-32)', async () => {
    for (const word of ['hello', 'count', 'tool', 'running', 'boom', 'silence', 'ask', 'consent', 'theirs']) {
      const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
      const startedAt = Date.now()
      const events = await web.runChat(word, { threadId, runId })
      const endedAt = Date.now()
      expect(events[0]).toMatchObject({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' })
      const lastEvent = events.at(-1)
      if (word === 'boom') expect(lastEvent).toMatchObject({ type: 'RUN_ERROR', code: 'agent_failed' })
      else expect(lastEvent).toMatchObject({ type: 'RUN_FINISHED', threadId, runId })
      expect(events.every(({ timestamp }) => Number.isInteger(timestamp))).toBe(true)
      const rows = await web.readHistory(threadId)
      for (const { timestamp } of rows) expect(new Date(timestamp).toISOString()).toBe(timestamp)
      const [firstAt, lastAt] = [events[0]?.timestamp ?? 0, lastEvent?.timestamp ?? 0]
      expect(Date.parse(rows[0]?.timestamp ?? '')).toBeLessThanOrEqual(firstAt)
      expect(Date.parse(rows.at(-1)?.timestamp ?? '')).toBeLessThanOrEqual(lastAt)
      // Both times come from the same clock, in the same unit.
      const instants = [
        ...rows.map(({ timestamp }) => Date.parse(timestamp)),
        ...events.map(event => event.timestamp ?? 0),
      ]
      for (const instant of instants) {
        expect(instant).toBeGreaterThanOrEqual(startedAt)
        expect(instant).toBeLessThanOrEqual(endedAt)
      }
    }
  })

  test('close everything open before a cancelled run ends (C-18)', async () => {
    const runId = uniqueName('run')
    const running = web.runChat('wait', { runId })
    await eventually(async () => (await web.gateway.messages()).some(({ state }) => state === 'working'))
    await eventually(async () => {
      const { json } = await web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)
      return json.cancelled === true
    })
    const events = await running
    const startTypes = typesOf(events).filter(type => /START/.test(type) && type !== 'RUN_STARTED')
    const closingTypes = typesOf(events).filter(type => /_END$|STEP_FINISHED/.test(type))
    expect(closingTypes).toHaveLength(startTypes.length)
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
    expect(typesOf(events)).not.toContain('RUN_ERROR')
  })

  test('go on without a client that leaves, and the store gets the answer (C-17)', async () => {
    const threadId = uniqueName('thread')
    const leaving = new AbortController()
    process.env.LINGER = 'until the client has left'
    try {
      const response = await web.requestAs('/api/v1/agent/runs', {
        method: 'POST',
        body: JSON.stringify({
          threadId,
          runId: uniqueName('run'),
          messages: [{ id: 'm', role: 'user', content: 'linger' }],
        }),
        signal: leaving.signal,
      })
      let text = ''
      for await (const bytes of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
        text += bytes
        if (text.includes('begun')) break
      }
      leaving.abort()
      const types = typesOf(parseEvents(text.slice(0, text.lastIndexOf('\n\n') + 2)))
      expect(types).toEqual(typesOfSpokenRun('RUN_FINISHED').slice(0, 4))
      // Five readings give the gateway time to notice that the client has left.
      for (let turn = 0; turn < 5; turn += 1) expect(await web.readHistory(threadId)).toHaveLength(1)
    } finally {
      delete process.env.LINGER
    }
    const reportedRows = await eventually(async () => {
      const rows = await web.readHistory(threadId)
      return rows.length === 2 && rows
    })
    expect(reportedRows[1]?.content).toBe('begun and done')
    expect(reportedRows[1]?.metadata).not.toHaveProperty('incomplete')
  })

  test('keep the place of a new message of a client that lacks the history', async () => {
    const threadId = uniqueName('thread')
    await web.runChat('one', { threadId })
    const headers = { authorization: 'Bearer token-of-ann-for-the-tests' }
    const client = new HttpAgent({ url: `${web.gateway.url()}/api/v1/agent/runs`, headers, threadId })
    client.addMessage({ id: 'second', role: 'user', content: 'two' } as Message)
    await client.runAgent({ runId: uniqueName('run') })
    const sendMessages = (messages: readonly { role: string; content?: unknown }[]) =>
      messages.map(({ role, content }) => [role, content])
    expect(sendMessages(client.messages)).toEqual(sendMessages(await web.readHistory(threadId)))
    expect(client.messages).toHaveLength(4)
  })
})

test('the second run with one id gets a refusal before any other work (C-26, E-43)', async () => {
  const ids = { threadId: uniqueName('thread'), runId: uniqueName('run') }
  await readEvents(await web.postRun({ ...ids, messages: [{ id: 'm1', role: 'user', content: 'tool' }] }))
  const historyBefore = await web.readHistory(ids.threadId, '&include=trace')
  const secondResponse = await web.postRun({ ...ids, messages: [{ id: 'm2', role: 'user', content: 'tool' }] })
  expect([secondResponse.status, await secondResponse.json()]).toMatchObject([
    409,
    { code: 'run_repeated', detail: 'Cannot run: this run was started already' },
  ])
  expect(await web.readHistory(ids.threadId, '&include=trace')).toEqual(historyBefore)
  // Another person's run may have the same id.
  const otherResponse = await web.postRun({ ...ids, messages: [{ id: 'm1', role: 'user', content: 'hi' }] }, {}, 'bob')
  expect((await readEvents(otherResponse)).at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
})

describe('an open requirement in a chat', () => {
  const interruptsOf = (events: Awaited<ReturnType<WebGateway['runChat']>>) => {
    const { outcome } = events.at(-1) as unknown as { outcome: { type: string; interrupts?: { id: string }[] } }
    return outcome.interrupts ?? []
  }

  test('keeps runs from success, by other messages, another id’s answer or a reload (C-25)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('consent', { threadId }))
    expect(interrupt).toMatchObject({ reason: 'confirmation', message: 'May I delete it?' })
    const otherDecision = [{ interruptId: 'another', status: 'resolved', payload: { approved: true } }]
    const runs = [
      await web.runChat('what for?', { threadId }),
      await web.runChat('go on', { threadId, resume: otherDecision }),
      await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [] })),
    ]
    for (const events of runs) expect(interruptsOf(events)).toEqual([interrupt])
    expect(findEvent(runs[1] ?? [], 'CUSTOM').value).toBe('an interrupt that is not open was not decided')
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
    const decisionEvents = await readEvents(
      await web.postRun({ threadId, runId: uniqueName('run'), messages: [], resume }),
    )
    expect(JSON.stringify(decisionEvents)).toContain('decided: granted')
    expect(decisionEvents.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })

  test('stays open for its person when somebody else tries to decide it by its id (C-25)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('consent', { threadId }))
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
    const askAsBob = async (toThread: string, overrides: object) => {
      const messages = 'resume' in overrides ? [] : [{ id: uniqueName('msg'), role: 'user', content: 'consent' }]
      return readEvents(
        await web.postRun({ threadId: toThread, runId: uniqueName('run'), messages, ...overrides }, {}, 'bob'),
      )
    }
    const ownThread = uniqueName('thread')
    const [ofBob] = interruptsOf(await askAsBob(ownThread, {}))
    expect(ofBob?.id).not.toBe(interrupt?.id)
    for (const thread of [threadId, uniqueName('thread'), ownThread]) {
      const events = await askAsBob(thread, { resume })
      expect(JSON.stringify(events)).not.toContain('decided:')
      expect(events.at(-1)).toMatchObject({
        type: 'RUN_ERROR',
        code: 'not_decided',
        message: 'an interrupt that is not open was not decided',
      })
    }
    const decisionEvents = await readEvents(
      await web.postRun({ threadId, runId: uniqueName('run'), messages: [], resume }),
    )
    expect(JSON.stringify(decisionEvents)).toContain('decided: granted')
  })

  test('ends as declined by a cancel (C-24)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('consent', { threadId }))
    const resume = [{ interruptId: interrupt?.id, status: 'cancelled', payload: { approved: true } }]
    const events = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [], resume }))
    expect(JSON.stringify(events)).toContain('decided: declined')
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })

  test('accepts no decision after its deadline, and nothing runs (C-25)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('consent', { threadId }))
    // This is the largest number of open requirements in a conversation: with one more, the oldest expires.
    let open: readonly { id: string }[] = []
    for (let count = 0; count < 20; count++) open = interruptsOf(await web.runChat('consent', { threadId }))
    expect(open).toHaveLength(20)
    expect(open).not.toContainEqual(expect.objectContaining({ id: interrupt?.id }))
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
    const events = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [], resume }))
    expect(JSON.stringify(events)).not.toContain('decided:')
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'not_decided',
      message: 'an interrupt that is not open was not decided',
    })
  })

  test('reappears after a visible call, and its id takes the answer (E-40)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('search', { threadId }))
    expect(interrupt).toMatchObject({ reason: 'input_required', message: 'Which of the three?' })
    const returnEvents = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [] }))
    expect(interruptsOf(returnEvents)).toEqual([interrupt])
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: 'the red one' }]
    const events = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [], resume }))
    expect(JSON.stringify(events)).toContain('you said: the red one')
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })

  test('reappears at every return if it is a question, and the next message answers it (E-40)', async () => {
    const threadId = uniqueName('thread')
    const [interrupt] = interruptsOf(await web.runChat('ask', { threadId }))
    expect(interrupt).toMatchObject({ reason: 'input_required', message: 'Which one?' })
    const returnEvents = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [] }))
    expect(interruptsOf(returnEvents)).toEqual([interrupt])
    expect(interruptsOf(await web.runChat('the red one', { threadId }))).toEqual([])
    const thread = `web:${JSON.stringify(['chat', threadId])}`
    const query = new URLSearchParams({ owner: 'web:["https://agents.test","ann"]', thread, format: 'envelope' })
    const { messages } = await web.gateway.requestOperator<{ messages: readonly Record<string, unknown>[] }>(
      `/transcript?${query}`,
    )
    expect(messages.slice(0, 3)).toMatchObject([
      { type: 'text', role: 'user', content: 'ask' },
      { type: 'input_required', role: 'tool', content: 'Which one?' },
      { type: 'text', role: 'user', content: 'the red one' },
    ])
    const secondEvents = await readEvents(await web.postRun({ threadId, runId: uniqueName('run'), messages: [] }))
    expect(secondEvents.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })
})

test('a running tool is a step with name and duration, or without a duration if only its end has a report (C-19)', async () => {
  for (const word of ['running', 'tool']) {
    const runId = uniqueName('run')
    const events = await web.runChat(word, { runId })
    const steps = events.flatMap(event => (event.type.startsWith('STEP') ? [event] : [])) as never[]
    const stepNames = steps.map(({ type, stepName }: { type: string; stepName: string }) => `${type} ${stepName}`)
    expect(stepNames).toEqual([
      'STEP_STARTED execution',
      'STEP_STARTED tool_execution',
      'STEP_FINISHED tool_execution',
      'STEP_FINISHED execution',
    ])
    const { metadata } = steps[2] as unknown as { metadata: Record<string, unknown> }
    const { latency_ms, ...otherMetadata } = metadata
    expect(otherMetadata).toEqual({
      run_id: runId,
      stage: 'tool_execution',
      message_id: findEvent(events, 'TOOL_CALL_START').toolCallId,
      tool_name: 'search',
    })
    expect(Number.isInteger(latency_ms)).toBe(word === 'running')
  }
})

test('a file of an answer is a link in its text, and complete in the message’s metadata, streamed and stored (C-29)', async () => {
  const threadId = uniqueName('thread')
  const events = await web.runChat('picture', { threadId })
  const text = events.flatMap(event => (event.type === 'TEXT_MESSAGE_CONTENT' ? [String(event.delta)] : [])).join('')
  const [file] = findEvent(events, 'TEXT_MESSAGE_END').metadata.files
  expect(file).toEqual({
    kind: 'file',
    name: 'a.txt',
    mime_type: 'text/plain',
    size: 2,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    url: expect.stringContaining('/attachments/'),
  })
  expect(text).toBe(`here\n\n[a.txt](${file.url})`)
  expect(await (await fetch(web.local(file.url))).text()).toBe('hi')
  const [, answer] = await web.readHistory(threadId)
  expect([answer?.content.replace(/\?token=.*/, ''), answer?.metadata.files]).toEqual([
    text.replace(/\?token=.*/, ''),
    [{ ...file, url: expect.stringContaining('/attachments/') }],
  ])
})
