import { hash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { BaseEvent } from '@ag-ui/client'
import { EventSchema } from '@ag-ui/core/schemas'
import { drawCount } from '@postern/testing/scale'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'

// These tests attack the chat through real sockets, as people who have a token of their own.

const people = ['ann', 'bob', 'cem', 'dora', 'eve', 'flo'] as const
type Person = (typeof people)[number]
const tokenOf = (person: Person) => `token-of-${person}-for-the-attacks`

let setup: TestGateway
let count = 0
const name = (label: string) => `${label}-${++count}`
const openListeners = new Set<object>()

beforeAll(async () => {
  const web = {
    enabled: true,
    auth: { tokens: people.map(person => ({ name: person, sha256: hash('sha256', tokenOf(person)) })) },
    attachments: { max_total_bytes: 64 * 1024 },
    limits: { files_per_run: 3, session_messages: 50, runs_per_owner: 2_000 },
  }
  const agents = {
    chat: { use: '../agents/chat/chatter.ts' },
    waiting: { use: '../agents/waiting/loiterer.ts', concurrency: 4 },
    loiterer: { use: '../agents/waiting/loiterer.ts' },
    merging: { use: '../agents/waiting/loiterer.ts', queue: 'merge' },
    interrupting: { use: '../agents/waiting/loiterer.ts', queue: 'interrupt' },
    flooder: { use: '../agents/chat/flooder.ts' },
    convener: { use: '../agents/calling/convener.ts' },
    helper: { use: 'builtin:echo' },
    picky: { use: 'builtin:echo', allow: [{ issuer: gatewayOrigin, subject: 'bob' }] },
    denying: { use: 'builtin:echo', deny: [{ subject: 'ann' }] },
  }
  setup = await openTestGateway(() => ({ web, agents, default_agent: 'chat' }))
  countListeners()
})
afterAll(() => setup.close())

function countListeners(): void {
  const { store } = setup.gateway()
  const listen = store.listen.bind(store)
  store.listen = (topic, listener) => {
    const entry = {}
    // The worker listens to its turns, too.
    if (new Error().stack?.includes('follow-turn')) openListeners.add(entry)
    const stop = listen(topic, listener)
    return () => {
      openListeners.delete(entry)
      stop()
    }
  }
}

function requestAs(path: string, { as = 'ann', ...init }: RequestInit & { as?: Person } = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${tokenOf(as)}`)
  return fetch(`${setup.url()}${path}`, { ...init, headers })
}

interface RunOptions {
  readonly as?: Person
  readonly agent?: string
  readonly threadId?: string
  readonly runId?: string
  readonly id?: string
  readonly content?: unknown
  readonly resume?: readonly object[]
}

function beginRun(
  content: unknown,
  { as = 'ann', agent = 'chat', resume, ...ids }: RunOptions = {},
): Promise<Response> {
  const { threadId = name('thread'), runId = name('run'), id = name('msg') } = ids
  const messages = content === undefined ? [] : [{ id, role: 'user', content }]
  const body = JSON.stringify({ threadId, runId, messages, ...(resume && { resume }) })
  return requestAs(`/api/v1/agents/${agent}/runs`, { as, method: 'POST', body })
}

async function eventsOf(response: Response): Promise<BaseEvent[]> {
  expect(response.status).toBe(200)
  const lines = (await response.text()).split('\n\n').filter(line => line.startsWith('data: '))
  return lines.map(line => EventSchema.parse(JSON.parse(line.slice(6))) as BaseEvent)
}

const wordsOf = (events: readonly BaseEvent[]) =>
  events
    .flatMap(event => (event.type === 'TEXT_MESSAGE_CONTENT' ? [(event as unknown as { delta: string }).delta] : []))
    .join('')

async function refusalOf(response: Promise<Response>) {
  const answer = await response
  const { code, detail } = (await answer.json()) as { code: string; detail: string }
  return [answer.status, code, detail]
}

const history = (threadId: string, { as = 'ann', agent = 'chat' }: RunOptions = {}) =>
  requestAs(`/api/v1/agents/${agent}/history?threadId=${encodeURIComponent(threadId)}`, { as })

function upload(bytes: Uint8Array, { as = 'ann' as Person, fileName = 'x.txt', type = 'text/plain' } = {}) {
  const form = new FormData()
  form.set('file', new File([new Uint8Array(bytes)], fileName, { type }))
  return requestAs('/api/v1/agent/attachments', { as, method: 'POST', body: form })
}

const local = (url: string) => url.replace(gatewayOrigin, setup.url())

describe('an id of another person', () => {
  test('does not exist for this person: threads, runs, files, sessions and locations', async () => {
    const [threadId, runId] = [name('thread'), name('run')]
    await eventsOf(await beginRun('hello', { threadId, runId }))
    const file = (await (await upload(Buffer.from('mine'))).json()) as { bucket: string; path: string; url: string }
    const session = (await (
      await requestAs('/v1/sessions', { method: 'POST', body: JSON.stringify({ context: 'mine' }) })
    ).json()) as { session_id: string }
    await requestAs('/v1/store/place/messages', {
      method: 'POST',
      body: JSON.stringify({ messages: [{ type: 'user_message', content: 'mine' }] }),
    })
    const fileQuery = (path: string) => `?bucket=${file.bucket}&path=${encodeURIComponent(path)}`
    const pairs = [
      [`/api/v1/agent/history?threadId=${threadId}`, '/api/v1/agent/history?threadId=none'],
      [
        `/api/v1/agent/attachments/signed-url${fileQuery(file.path)}`,
        `/api/v1/agent/attachments/signed-url${fileQuery('none')}`,
      ],
      [`/v1/sessions/${session.session_id}`, '/v1/sessions/00000000-0000-4000-8000-000000000000'],
      ['/v1/store/place/global', '/v1/store/none/global'],
    ] as const
    for (const [theirPath, missingPath] of pairs) {
      const [theirAnswer, missingAnswer] = [
        await requestAs(theirPath, { as: 'bob' }),
        await requestAs(missingPath, { as: 'bob' }),
      ]
      expect([theirPath, theirAnswer.status, await theirAnswer.text()]).toEqual([
        theirPath,
        missingAnswer.status,
        await missingAnswer.text(),
      ])
    }
    const deletions = [fileQuery(file.path), fileQuery('none')].map(query =>
      refusalOf(requestAs(`/api/v1/agent/attachments${query}`, { as: 'bob', method: 'DELETE' })),
    )
    const [firstDeletion, secondDeletion] = await Promise.all(deletions)
    expect(firstDeletion).toEqual([
      404,
      'no_recipient',
      'Cannot delete attachment: you have no attachment at this location',
    ])
    expect(secondDeletion).toEqual(firstDeletion)
    for (const id of [runId, 'none']) {
      const cancel = requestAs(`/api/v1/agent/runs/${id}/cancel`, { as: 'bob', method: 'POST' })
      expect(await refusalOf(cancel)).toEqual([404, 'no_recipient', 'Cannot cancel: there is no such run'])
    }
    const content = [
      { type: 'text', text: 'look' },
      { type: 'binary', mimeType: 'text/plain', url: file.url },
    ]
    expect(wordsOf(await eventsOf(await beginRun(content, { as: 'bob' })))).not.toContain('text/plain')
    expect((await fetch(local(file.url))).status).toBe(200)
  })

  test('may have any characters, and may also exist for another person', async () => {
    for (const oddId of ['../../etc', 'a/b?c=d#e', '\u202egnp', '💬'.repeat(60), '"],["x', "'; --", '%00%2f', ' ']) {
      for (const as of ['ann', 'bob'] as const) {
        const text = `hello of ${as}`
        await eventsOf(await beginRun(text, { as, threadId: oddId, runId: oddId, id: oddId }))
        const { messages } = (await (await history(oddId, { as })).json()) as { messages: { content: string }[] }
        expect(messages.map(({ content }) => content)).toEqual([text, `you said: ${text}; turns: 0`])
      }
    }
    for (const invalidId of ['a\0b', '\ud800', 'x'.repeat(1_000_000), '']) {
      expect((await beginRun('hi', { threadId: invalidId })).status).toBe(400)
      expect((await beginRun('hi', { runId: invalidId })).status).toBe(400)
      expect((await beginRun('hi', { id: invalidId })).status).toBe(400)
    }
  })
})

describe('the files', () => {
  test('of one person have a common limit, and the person can delete them', async () => {
    const storedFiles: { bucket: string; path: string }[] = []
    for (let i = 0; i < 4; i++) {
      const response = await upload(Buffer.from(`file ${i}`), { as: 'dora' })
      storedFiles.push((await response.json()) as { bucket: string; path: string })
    }
    const [status, code, detail] = await refusalOf(upload(Buffer.from('one more'), { as: 'dora' }))
    expect([status, code]).toEqual([413, 'too_large'])
    expect(detail).toBe('Cannot store object: with it there would be more than 65536 bytes of yours')
    const [{ bucket, path } = { bucket: '', path: '' }] = storedFiles
    const query = `?bucket=${bucket}&path=${encodeURIComponent(path)}`
    expect((await requestAs(`/api/v1/agent/attachments${query}`, { as: 'dora', method: 'DELETE' })).status).toBe(200)
    expect((await upload(Buffer.from('one more'), { as: 'dora' })).status).toBe(200)
    const manyResponses = await Promise.all(
      Array.from({ length: 8 }, (_, i) => upload(Buffer.from(`at once ${i}`), { as: 'flo' })),
    )
    expect(manyResponses.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(4)
  })

  test('of one run have a limit, and the gateway reads a repeated URL once', async () => {
    const { url } = (await (await upload(Buffer.from('big'), { as: 'eve' })).json()) as { url: string }
    const content = Array.from({ length: 4 }, () => ({ type: 'binary', mimeType: 'text/plain', url }))
    expect(await refusalOf(beginRun(content, { as: 'eve' }))).toEqual([
      413,
      'too_large',
      'Cannot run: more than 3 files',
    ])
  })

  test('never execute in a browser, under any type and name', async () => {
    const hostileContents = [
      '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      '<!doctype html><script>alert(1)</script>',
      'GIF89a/*<script>*/',
    ]
    for (const text of hostileContents) {
      const response = await upload(Buffer.from(text), {
        as: 'cem',
        fileName: 'a"\r\nset-cookie: x=y;.html',
        type: 'text/html',
      })
      const { url, path } = (await response.json()) as { url: string; path: string }
      expect(path).toMatch(/^[\w./-]+$/)
      const fileResponse = await fetch(local(url))
      expect(fileResponse.headers.get('content-type')).toMatch(/^(application\/octet-stream|image\/gif)$/)
      expect(fileResponse.headers.get('x-content-type-options')).toBe('nosniff')
      expect(fileResponse.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
      expect(fileResponse.headers.get('set-cookie')).toBeNull()
      const query = `?bucket=agent-inputs&path=${encodeURIComponent(path)}`
      await requestAs(`/api/v1/agent/attachments${query}`, { as: 'cem', method: 'DELETE' })
      expect((await fetch(local(url))).status).toBe(404)
    }
  })
})

describe('a sender who may not speak to an agent', () => {
  test('gets a refusal before a stream begins, and the store keeps none of the text', async () => {
    const forbidden = [403, 'forbidden', 'Cannot take message: its sender may not speak to this agent']
    expect(await refusalOf(beginRun('hi', { agent: 'picky' }))).toEqual(forbidden)
    expect(await refusalOf(beginRun('hi', { agent: 'denying' }))).toEqual(forbidden)
    expect(wordsOf(await eventsOf(await beginRun('hi', { agent: 'picky', as: 'bob' })))).toContain('hi')
    expect(wordsOf(await eventsOf(await beginRun('hi', { agent: 'denying', as: 'bob' })))).toContain('hi')
  })
})

describe('the gateway', () => {
  test('keeps no open request for aborted streams', async () => {
    await eventually(async () => openListeners.size === 0)
    const waiting = Array.from({ length: drawCount({ quick: 300, long: 1_000 }) }, async (_, index) => {
      const leaving = new AbortController()
      const body = JSON.stringify({
        threadId: name('thread'),
        runId: name('run'),
        messages: [{ id: name('msg'), role: 'user', content: 'hello' }],
      })
      const headers = { authorization: `Bearer ${tokenOf('ann')}` }
      const init = { method: 'POST', body, headers, signal: leaving.signal }
      if (index % 3 === 0) setTimeout(() => leaving.abort(), index % 40)
      const response = await fetch(`${setup.url()}/api/v1/agents/waiting/runs`, init).catch(() => undefined)
      await response?.body
        ?.getReader()
        .read()
        .catch(() => undefined)
      leaving.abort()
    })
    await Promise.all(waiting)
    await eventually(async () => openListeners.size === 0)
    expect(openListeners.size).toBe(0)
  }, 180_000)

  test('ends a stream without a reader, whose run still completes', async () => {
    const { port } = new URL(setup.url())
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    const threadId = name('thread')
    const content = 'word '.repeat(600_000)
    const body = JSON.stringify({
      threadId,
      runId: name('run'),
      messages: [{ id: name('msg'), role: 'user', content }],
    })
    socket.pause()
    socket.write(
      `POST /api/v1/agent/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokenOf('bob')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await eventually(async () => {
      const historyResponse = await history(threadId, { as: 'bob' })
      return historyResponse.ok && ((await historyResponse.json()) as { messages: unknown[] }).messages.length === 2
    })
    socket.destroy()
    await eventually(async () => openListeners.size === 0)
    // A client without any messages that rejoins gets the complete answer, however long it is.
    const events = await eventsOf(await beginRun(undefined, { as: 'bob', threadId }))
    expect(events.at(-1)?.type).toBe('RUN_FINISHED')
  })
})

test('streams a very long answer to its end', async () => {
  const events = await eventsOf(await beginRun('go on', { agent: 'flooder', as: 'cem' }))
  const text = wordsOf(events)
  expect(text.startsWith('word 0 word 1 ')).toBe(true)
  expect(text.split('word ')).toHaveLength(60_001)
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
})

test('streams the answers of mentioned agents after the answer, in the same message', async () => {
  const events = await eventsOf(await beginRun('ask @helper@agents.test', { agent: 'convener', as: 'cem' }))
  expect(events.filter(({ type }) => type === 'TEXT_MESSAGE_START')).toHaveLength(1)
  expect(wordsOf(events)).toMatch(/^Let me ask around\.\n\n[\s\S]*@?helper/)
  expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
})

describe('messages during a run', () => {
  const beginEvesRun = (agent: string, content: string, threadId: string) =>
    beginRun(content, { agent, threadId, as: 'eve' })
  const untilWorking = () => eventually(async () => (await setup.messages()).some(({ state }) => state === 'working'))

  async function askThree(agent: string) {
    const threadId = name('thread')
    const first = beginEvesRun(agent, 'one', threadId)
    await untilWorking()
    const runs = [first, beginEvesRun(agent, 'two', threadId), beginEvesRun(agent, 'three', threadId)]
    const pendingRuns = Promise.all(runs.map(async pendingRun => eventsOf(await pendingRun)))
    await eventually(async () => (await setup.messages()).filter(message => message.agent === agent).length === 3)
    let isOver = false
    const repeatedRuns = (async () => {
      while (!isOver) {
        await eventsOf(await beginRun('go', { agent, as: 'bob' }))
        await delay(100)
      }
    })()
    const eventLists = await pendingRuns.finally(() => {
      isOver = true
    })
    await repeatedRuns
    return eventLists.map(events => ({ words: wordsOf(events), end: events.at(-1) }))
  }

  const isSuccess = { outcome: { type: 'success' } }

  test('get one answer together with "merge", and each of their runs ends with it', async () => {
    const [firstRun, secondRun, thirdRun] = await askThree('merging')
    expect(firstRun).toMatchObject({ words: 'hm heard one (1)', end: isSuccess })
    expect(secondRun).toMatchObject({
      words: expect.stringMatching(/^hm heard (two\+\+three|three\+\+two) \(2\)$/),
      end: isSuccess,
    })
    expect(thirdRun).toMatchObject({ words: secondRun?.words, end: isSuccess })
  })

  test('cancel the earlier runs with "interrupt", and the newest message gets the answer', async () => {
    const outcomes = await askThree('interrupting')
    const answeredRun = outcomes.find(({ end }) => end?.type === 'RUN_FINISHED')
    expect(answeredRun).toMatchObject({ words: expect.stringMatching(/^hm heard (two|three) \(1\)$/), end: isSuccess })
    const otherAnswers = outcomes.filter(text => text !== answeredRun)
    expect(otherAnswers.map(({ end }) => end)).toMatchObject(
      otherAnswers.map(() => ({ type: 'RUN_ERROR', code: 'cancelled' })),
    )
  })
})

describe('the limits of the web channel', () => {
  test('include ten whole sessions in a page', async () => {
    for (let i = 0; i < 12; i++) {
      await requestAs('/v1/sessions', { method: 'POST', body: JSON.stringify({ context: `list-${i}` }), as: 'cem' })
    }
    const list = async (query: string) =>
      ((await (await requestAs(`/v1/sessions${query}`, { as: 'cem' })).json()) as { sessions: object[] }).sessions
    expect(await list('?include_messages=true&limit=100')).toHaveLength(10)
    expect(await list('?include_messages=true&limit=100&offset=10')).toHaveLength(2)
    expect(await list('?limit=100')).toHaveLength(12)
  })

  test('include the length of a session’s list', async () => {
    const { session_id } = (await (
      await requestAs('/v1/sessions', { method: 'POST', body: JSON.stringify({ context: 'bounds' }) })
    ).json()) as { session_id: string }
    const putMessages = (length: number) =>
      requestAs(`/v1/sessions/${session_id}`, {
        method: 'PUT',
        body: JSON.stringify({ messages: Array.from({ length }, () => ({ role: 'user', content: 'x' })) }),
      })
    expect((await putMessages(50)).status).toBe(200)
    expect(await refusalOf(putMessages(51))).toEqual([413, 'too_large', 'Cannot update session: more than 50 messages'])
  })
})

test('the gateway deletes everything of a forgotten person in the chat, including running work', async () => {
  const threadId = name('thread')
  await eventsOf(await beginRun('my secret is 4711', { as: 'flo', threadId }))
  void beginRun('my other secret is 0815', { as: 'flo', agent: 'loiterer' }).catch(() => undefined)
  await eventually(async () => JSON.stringify(await setup.messages()).includes('0815'))
  // A decision is not a message of the run, but it still belongs to the person.
  const asking = await eventsOf(await beginRun('consent', { as: 'flo', threadId }))
  const { outcome } = asking.at(-1) as unknown as { outcome: { interrupts: { id: string }[] } }
  const resume = [{ interruptId: outcome.interrupts[0]?.id, status: 'resolved', payload: { approved: true } }]
  expect(wordsOf(await eventsOf(await beginRun(undefined, { as: 'flo', threadId, resume })))).toBe('decided: granted')
  const response = await fetch(`${setup.url()}/operator/api/owners/forget`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ owner: `web:${JSON.stringify([gatewayOrigin, 'flo'])}` }),
  })
  expect(response.status).toBe(200)
  expect((await history(threadId, { as: 'flo' })).status).toBe(404)
  expect(await response.json()).toMatchObject({ runs: 4, threads: 2 })
  const remainingSummaries = (await setup.messages()).filter(({ sender }) => sender === '@flo@web.agents.test')
  expect(remainingSummaries).toEqual([])
  expect(JSON.stringify(await setup.requestOperator('/requirements'))).not.toContain('@flo@')
  // A forgotten person who returns starts over.
  expect(wordsOf(await eventsOf(await beginRun('hello', { as: 'flo', threadId })))).toBe('you said: hello; turns: 0')
})

test('only the person gets the decision link', async () => {
  const threadId = name('thread')
  const events = await eventsOf(await beginRun('consent', { threadId }))
  const { outcome } = events.at(-1) as unknown as { outcome: { interrupts: { metadata: { url: string } }[] } }
  const url = outcome.interrupts[0]?.metadata.url ?? ''
  expect(url).toMatch(/^https:\/\/agents\.test\/actions\/[\w-]{43}$/)
  expect((await fetch(local(url))).status).toBe(200)
  const requirementsOf = async () => {
    const { messages } = (await (await history(threadId)).json()) as {
      messages: { metadata: { requirements?: object[] } }[]
    }
    return messages.flatMap(({ metadata }) => metadata.requirements ?? [])
  }
  expect(await requirementsOf()).toMatchObject([{ kind: 'consent_required', url }])
  const operatorSees = JSON.stringify([await setup.messages(), await setup.requestOperator('/requirements')])
  const [newest] = await setup.messages()
  const message = JSON.stringify(await setup.readMessage(newest?.id ?? ''))
  const exported = await setup.requestOperator(
    `/transcript?format=agui&owner=${encodeURIComponent(`web:${JSON.stringify([gatewayOrigin, 'ann'])}`)}&thread=${encodeURIComponent(`web:${JSON.stringify(['chat', threadId])}`)}`,
  )
  const state = url.slice(-43)
  for (const text of [operatorSees, message, JSON.stringify(exported)]) expect(text).not.toContain(state)
  // The requirement cannot be decided in another conversation, and only once in this one.
  const [interruptId] = (await requirementsOf()).map(requirement => (requirement as { id: string }).id)
  const resume = [{ interruptId, status: 'resolved', payload: { approved: true } }]
  const otherEvents = await eventsOf(await beginRun(undefined, { resume }))
  expect(otherEvents.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'not_decided' })
  const reportedEvents = await eventsOf(await beginRun('and hurry', { threadId, resume }))
  expect(wordsOf(reportedEvents)).toBe('decided: granted')
  expect(reportedEvents).toContainEqual(
    expect.objectContaining({ name: 'warning', value: 'messages sent together with a decision were ignored' }),
  )
  expect(await requirementsOf()).toEqual([])
})

test('the gateway’s limits apply to the chat with 429 before a stream begins, for that person only', async () => {
  const web = {
    enabled: true,
    auth: { tokens: people.map(person => ({ name: person, sha256: hash('sha256', tokenOf(person)) })) },
  }
  const agents = { chat: { use: '../agents/chat/chatter.ts' } }
  const strict = await openTestGateway(() => ({ web, agents, limits: { per_identity: 3 } }))
  try {
    const say = (as: Person) =>
      fetch(`${strict.url()}/api/v1/agent/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokenOf(as)}`, 'x-forwarded-for': `192.0.2.${++count % 250}` },
        body: JSON.stringify({
          threadId: name('thread'),
          runId: name('run'),
          messages: [{ id: name('msg'), role: 'user', content: 'hello' }],
        }),
      })
    const answers = [await say('ann'), await say('ann'), await say('ann'), await say('ann')]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    const [refusedResponse] = answers.slice(-1) as [Response]
    expect(refusedResponse.headers.get('content-type')).toBe('application/problem+json')
    expect(Number(refusedResponse.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refusedResponse.json()).toMatchObject({
      code: 'rate_limited',
      detail: 'Cannot take message: too many from this sender in a short time',
    })
    const otherResponse = await say('bob')
    expect(otherResponse.status).toBe(200)
    for (const answer of [...answers.slice(0, 3), otherResponse]) await answer.text()
  } finally {
    await strict.close()
  }
})
