import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aAnswer, A2aPostOptions, A2aTestGateway } from '../setup/gateway.ts'
import { echoAgent, openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway

beforeAll(async () => {
  const askingAgent = { handle: () => ({ status: 'input_required' as const, parts: [] }) }
  gateway = await openA2aGateway({
    agents: { echo: echoAgent, asking: askingAgent },
    config: { limits: { body_bytes: 20_000 } },
  })
})
afterAll(() => gateway.close())

const unknownId = '00000000-0000-4000-8000-000000000000'

interface RestOptions extends Omit<A2aPostOptions, 'path'> {
  readonly body?: unknown
  readonly basePath?: string
}

function callRest(method: string, path: string, { body, headers, token, basePath = '/a2a/rest' }: RestOptions = {}) {
  const bearer = token === null ? undefined : `Bearer ${token ?? gateway.token}`
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return gateway.request(basePath + path, {
    method,
    ...(body !== undefined && { body: text }),
    headers: {
      'a2a-version': '1.0',
      ...(body !== undefined && { 'content-type': 'application/a2a+json' }),
      ...(bearer && { authorization: bearer }),
      ...headers,
    },
  })
}

let messageCount = 0
const composeSendParams = (text: string, message: object = {}) => {
  messageCount += 1
  return { message: { messageId: `r-${messageCount}`, role: 'ROLE_USER', parts: [{ text }], ...message } }
}

/** Checks the form of a google.rpc.Status, and returns its details. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
function readError({ status, body }: A2aAnswer): any {
  const { error } = body as unknown as { error: { code: number; status: string; message: string; details: never[] } }
  expect(error.code).toBe(status)
  const [info, request] = error.details as { reason: string; domain: string; fieldViolations?: object[] }[]
  expect(info).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'a2a-protocol.org' })
  return { http: status, status: error.status, reason: info?.reason, message: error.message, request }
}

describe('every unary operation has its path (HTTP_JSON-URL-001)', () => {
  test('with SendMessage, GetTask and ListTasks for each agent and the default one', async () => {
    for (const basePath of ['/a2a/rest', '/agents/echo/a2a/rest']) {
      const answer = await callRest('POST', '/message:send', { body: composeSendParams('hello'), basePath })
      expect(answer.status).toBe(200)
      const { task } = answer.body as unknown as { task: { id: string; contextId: string; artifacts: object[] } }
      expect(task.artifacts).toMatchObject([{ parts: [{ text: 'heard: hello' }] }])
      const foundTask = await callRest('GET', `/tasks/${task.id}?historyLength=0`, { basePath })
      expect(foundTask.body).toEqual(task)
      const listResponse = await callRest(
        'GET',
        `/tasks?contextId=${task.contextId}&pageSize=1&includeArtifacts=true`,
        {
          basePath,
        },
      )
      expect(listResponse.body).toMatchObject({
        tasks: [{ id: task.id }],
        nextPageToken: '',
        pageSize: 1,
        totalSize: 1,
      })
    }
  })

  test.each([
    ['nothing', undefined, undefined],
    ['the word null', 'null', 'application/json'],
    ['an empty object', '{}', 'application/json'],
    ['metadata', '{"metadata":{"why":"enough"}}', 'application/a2a+json'],
  ])('with CancelTask, which accepts a body of %s', async (_, body, type) => {
    const basePath = '/agents/asking/a2a/rest'
    const sendResponse = await callRest('POST', '/message:send', { body: composeSendParams('x'), basePath })
    const { id } = (sendResponse.body as unknown as { task: { id: string } }).task
    const headers = type ? { 'content-type': type } : {}
    const cancelResponse = await callRest('POST', `/tasks/${id}:cancel`, { body, headers, basePath })
    expect(cancelResponse.body).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(readError(await callRest('POST', `/tasks/${id}:cancel`, { basePath }))).toMatchObject({
      http: 400,
      status: 'FAILED_PRECONDITION',
      reason: 'TASK_NOT_CANCELABLE',
      message: 'Cannot CancelTask: the task has ended',
    })
  })
})

describe('both bindings (BIND-EQUIV-002)', () => {
  test('return the same GetTask and ListTasks results, byte for byte', async () => {
    const sendResponse = await callRest('POST', '/message:send', { body: composeSendParams('hello') })
    const { id, contextId } = (sendResponse.body as unknown as { task: { id: string; contextId: string } }).task
    const pairs = [
      [await callRest('GET', `/tasks/${id}`), await gateway.rpc('GetTask', { id })],
      [await callRest('GET', `/tasks?contextId=${contextId}`), await gateway.rpc('ListTasks', { contextId })],
    ] as const
    for (const [restResponse, rpcResponse] of pairs)
      expect(restResponse.text).toBe(JSON.stringify(rpcResponse.body.result))
  })

  test('refuse with the same words, for the same reason (BIND-EQUIV-003)', async () => {
    const pairs = [
      [await callRest('GET', `/tasks/${unknownId}`), await gateway.rpc('GetTask', { id: unknownId })],
      [
        await callRest('POST', '/message:send', { body: composeSendParams('x', { parts: [] }) }),
        await gateway.rpc('SendMessage', composeSendParams('x', { parts: [] })),
      ],
      [await callRest('GET', '/tasks?pageSize=-1'), await gateway.rpc('ListTasks', { pageSize: -1 })],
      [await callRest('GET', '/acme/tasks'), await gateway.rpc('ListTasks', { tenant: 'acme' })],
    ] as const
    for (const [restResponse, rpcResponse] of pairs) {
      const { message, reason, request } = readError(restResponse)
      expect([message, reason, request]).toEqual([
        rpcResponse.body.error?.message,
        rpcResponse.body.error?.data[0].reason,
        rpcResponse.body.error?.data[1],
      ])
    }
  })

  test('create one task for a message that arrives through both (A2A-M12)', async () => {
    const body = composeSendParams('hello')
    const [restResponse, rpcResponse] = [
      await callRest('POST', '/message:send', { body }),
      await gateway.rpc('SendMessage', body),
    ]
    expect(restResponse.text).toBe(JSON.stringify(rpcResponse.body.result))
    expect(gateway.receivedMessages.filter(({ id }) => id === body.message.messageId)).toHaveLength(1)
    expect(gateway.receivedMessages.at(-1)?.raw).toEqual(body)
  })

  test('answer for another caller’s task exactly as for an unknown one (A2A-T02, BIND-EQUIV-004)', async () => {
    const sendResponse = await callRest('POST', '/message:send', {
      body: composeSendParams('x'),
      basePath: '/agents/asking/a2a/rest',
    })
    const { id } = (sendResponse.body as unknown as { task: { id: string } }).task
    const token = await gateway.issuer.sign({ sub: 'bob' })
    const basePath = '/agents/asking/a2a/rest'
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ':cancel'],
    ] as const) {
      const foreignTaskResponse = await callRest(method, `/tasks/${id}${path}`, { token, basePath })
      const unknownTaskResponse = await callRest(method, `/tasks/${unknownId}${path}`, { token, basePath })
      expect(foreignTaskResponse.text).toBe(unknownTaskResponse.text)
      expect([...foreignTaskResponse.headers]).toEqual([...unknownTaskResponse.headers])
      expect(readError(foreignTaskResponse)).toMatchObject({ http: 404, status: 'NOT_FOUND', reason: 'TASK_NOT_FOUND' })
    }
  })
})

describe('the media type of the answer (HTTP_JSON-SVC-001)', () => {
  test.each([
    ['no Accept header and no body', {}, undefined, 'application/a2a+json'],
    ['a2a+json sent', { 'content-type': 'application/a2a+json' }, '{}', 'application/a2a+json'],
    ['json sent', { 'content-type': 'application/json' }, '{}', 'application/json'],
    ['json asked for', { accept: 'application/json' }, undefined, 'application/json'],
    ['both asked for', { accept: 'application/json;q=0.5, application/a2a+json' }, undefined, 'application/a2a+json'],
    ['anything asked for, json sent', { 'content-type': 'application/json', accept: '*/*' }, '{}', 'application/json'],
    ['something else asked for', { accept: 'text/html' }, undefined, 'application/a2a+json'],
  ])('%s', async (_, headers, body, type) => {
    const path = `/tasks/${unknownId}`
    const answer = await (body
      ? callRest('POST', `${path}:cancel`, { headers, body })
      : callRest('GET', path, { headers }))
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('status and reason identify the fault (HTTP_JSON-STATUS-001)', () => {
  const body = '{"message":{}}'
  const text = { 'content-type': 'text/plain' }
  test.each<[string, string, string, RestOptions, number, string]>([
    ['A2A-E01 broken JSON', 'POST', '/message:send', { body: '{bad' }, 400, 'PARSE_ERROR'],
    ['A2A-E02 empty body', 'POST', '/message:send', { body: '' }, 400, 'PARSE_ERROR'],
    ['A2A-E08 body an array', 'POST', '/message:send', { body: '[]' }, 400, 'INVALID_PARAMS'],
    ['A2A-E13 text/plain', 'POST', '/message:send', { body, headers: text }, 400, 'CONTENT_TYPE_NOT_SUPPORTED'],
    ['A2A-E16 too large', 'POST', '/message:send', { body: ' '.repeat(20_001) }, 413, 'REQUEST_TOO_LARGE'],
    ['A2A-E19 too deep', 'POST', '/message:send', { body: '['.repeat(9_000) }, 400, 'INVALID_PARAMS'],
    ['A2A-E20 unknown path', 'GET', '/nothing', {}, 404, 'NOT_FOUND'],
    ['A2A-E20 the endpoint itself', 'GET', '/', {}, 404, 'NOT_FOUND'],
    ['A2A-E20 the endpoint without its slash', 'GET', '', {}, 404, 'NOT_FOUND'],
    ['A2A-E20 a path of 0.3', 'POST', '/v1/message:sent', { body }, 404, 'NOT_FOUND'],
    ['A2A-E22 id with %2F', 'GET', '/tasks/a%2Fb', {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-E22 id with %00', 'GET', '/tasks/a%00', {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-E22 id ..', 'GET', '/tasks/%2e%2e%2f', {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-E22 id not UTF-8', 'GET', '/tasks/%ff', {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-E22 id of 10 kB', 'GET', `/tasks/${'x'.repeat(10_000)}`, {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-E22 id __proto__', 'GET', '/tasks/__proto__', {}, 404, 'TASK_NOT_FOUND'],
    ['A2A-V01 no version', 'GET', '/tasks', { headers: { 'a2a-version': '' } }, 400, 'VERSION_NOT_SUPPORTED'],
    ['A2A-V02 99.0', 'GET', '/tasks', { headers: { 'a2a-version': '99.0' } }, 400, 'VERSION_NOT_SUPPORTED'],
    ['A2A-V05 two versions', 'GET', '/tasks?A2A-Version=0.3', {}, 400, 'VERSION_NOT_SUPPORTED'],
    ['A2A-M17 historyLength -1', 'GET', `/tasks/${unknownId}?historyLength=-1`, {}, 400, 'INVALID_PARAMS'],
    ['A2A-M17 historyLength 1.5', 'GET', `/tasks/${unknownId}?historyLength=1.5`, {}, 400, 'INVALID_PARAMS'],
    ['A2A-M17 historyLength 1e10', 'GET', `/tasks/${unknownId}?historyLength=1e10`, {}, 400, 'INVALID_PARAMS'],
    ['A2A-T09 pageSize 101', 'GET', '/tasks?pageSize=101', {}, 400, 'INVALID_PARAMS'],
    ['A2A-T09 pageSize x', 'GET', '/tasks?pageSize=x', {}, 400, 'INVALID_PARAMS'],
    ['A2A-T10 forged token', 'GET', '/tasks?pageToken=x', {}, 400, 'INVALID_PARAMS'],
    ['A2A-T11 status of 0.3', 'GET', '/tasks?status=completed', {}, 400, 'INVALID_PARAMS'],
    ['A2A-T11 timestamp', 'GET', '/tasks?statusTimestampAfter=yesterday', {}, 400, 'INVALID_PARAMS'],
    ['includeArtifacts 1', 'GET', '/tasks?includeArtifacts=1', {}, 400, 'INVALID_PARAMS'],
    ['a tenant', 'GET', '/acme/tasks', {}, 400, 'INVALID_PARAMS'],
    [
      'another id than in the path',
      'POST',
      `/tasks/${unknownId}:cancel`,
      { body: '{"id":"x"}' },
      400,
      'INVALID_PARAMS',
    ],
    ['A2A-A01 no credential', 'GET', '/tasks', { token: null }, 401, 'UNAUTHENTICATED'],
    ['an unknown agent', 'GET', '/tasks', { basePath: '/agents/nobody/a2a/rest' }, 404, 'NOT_FOUND'],
    ['an agent by %2F', 'GET', '/tasks', { basePath: '/agents/a%2Fb/a2a/rest' }, 404, 'NOT_FOUND'],
  ])('%s', async (_, method, path, options, http, reason) => {
    expect(readError(await callRest(method, path, options))).toMatchObject({ http, reason })
  })

  test.each([
    ['DELETE', '/message:send', 'POST'],
    ['POST', '/tasks', 'GET'],
    ['PUT', `/tasks/${unknownId}`, 'GET'],
    ['GET', `/tasks/${unknownId}:cancel`, 'POST'],
    ['DELETE', `/tasks/${unknownId}:subscribe`, 'GET, POST'],
    ['PUT', `/tasks/${unknownId}/pushNotificationConfigs`, 'POST, GET'],
    ['POST', `/tasks/${unknownId}/pushNotificationConfigs/1`, 'GET, DELETE'],
  ])('%s %s answers 405 (HTTP_JSON-URL-002, A2A-E20)', async (method, path, allow) => {
    const answer = await callRest(method, path)
    expect(readError(answer)).toMatchObject({ http: 405, reason: 'METHOD_NOT_ALLOWED' })
    expect(answer.headers.get('allow')).toBe(allow)
  })

  test('a request without a credential gets a challenge', async () => {
    expect((await callRest('GET', '/tasks', { token: null })).headers.get('www-authenticate')).toContain(
      'Bearer realm=',
    )
  })
})

test('the gateway accepts the version in the query (A2A-V04)', async () => {
  const answer = await callRest('GET', '/tasks?A2A-Version=1.0.3', { headers: { 'a2a-version': '' } })
  expect(answer.status).toBe(200)
})

test('the operator can see refused requests', async () => {
  await callRest('POST', '/message:send', { body: '{secret' })
  expect(gateway.refusals.at(-1)).toMatchObject({
    via: 'a2a',
    code: 'malformed',
    reason: 'Cannot read request: not valid JSON',
  })
})
