import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aAnswer, A2aPostOptions, A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ config: { limits: { body_bytes: 20_000 } } })
})
afterAll(() => gateway.close())

const get = { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {} }
const send = { messageId: 'e', role: 'ROLE_USER', parts: [{ text: 'x' }] }

interface Row {
  readonly row: string
  readonly sent: string | Uint8Array
  readonly options?: A2aPostOptions
  readonly status?: number
  readonly code?: number
  readonly id?: unknown
  readonly message?: string
}

const utf16 = new Uint8Array(Buffer.from(JSON.stringify(get), 'utf16le'))
const invalidUtf8 = new Uint8Array([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), 0xff, 0xfe, 0x22, 0x7d])

const rows: readonly Row[] = [
  { row: 'A2A-E01 broken JSON', sent: '{bad', code: -32700, id: null, message: 'Cannot read request: not valid JSON' },
  { row: 'A2A-E02 empty body', sent: '', code: -32700, id: null, message: 'Cannot read request: not valid JSON' },
  {
    row: 'A2A-E03 jsonrpc 1.0',
    sent: JSON.stringify({ ...get, jsonrpc: '1.0' }),
    code: -32600,
    id: 7,
    message: 'Cannot read request: jsonrpc must be "2.0"',
  },
  { row: 'A2A-E03 jsonrpc absent', sent: JSON.stringify({ ...get, jsonrpc: undefined }), code: -32600, id: 7 },
  {
    row: 'A2A-E04 batch of one',
    sent: JSON.stringify([get]),
    code: -32600,
    id: null,
    message: 'Cannot read request: batches are not supported',
  },
  { row: 'A2A-E05 empty batch', sent: '[]', code: -32600, id: null },
  { row: 'A2A-E06 id an object', sent: JSON.stringify({ ...get, id: {} }), code: -32600, id: null },
  { row: 'A2A-E06 id an array', sent: JSON.stringify({ ...get, id: [] }), code: -32600, id: null },
  { row: 'A2A-E06 id a boolean', sent: JSON.stringify({ ...get, id: true }), code: -32600, id: null },
  { row: 'A2A-E06 id null', sent: JSON.stringify({ ...get, id: null }), code: -32600, id: null },
  {
    row: 'A2A-E06 id without end',
    sent: JSON.stringify({ ...get, id: 'x'.repeat(5_000) }),
    code: -32600,
    id: null,
    message: 'Cannot read request: id must be a short string or a number',
  },
  { row: 'A2A-E08 params an array', sent: JSON.stringify({ ...get, params: [] }), code: -32602, id: 7 },
  {
    row: 'A2A-E08 params a string',
    sent: JSON.stringify({ ...get, params: 'x' }),
    code: -32602,
    id: 7,
    message: 'Cannot ListTasks: params must be an object',
  },
  {
    row: 'A2A-E09 unknown method',
    sent: JSON.stringify({ ...get, method: 'DoEverything' }),
    code: -32601,
    id: 7,
    message: 'Cannot take request: there is no such method',
  },
  { row: 'A2A-E09 method of an object', sent: JSON.stringify({ ...get, method: 'constructor' }), code: -32601, id: 7 },
  { row: 'A2A-E09 method not a string', sent: JSON.stringify({ ...get, method: 5 }), code: -32600, id: 7 },
  { row: 'A2A-E10 method of 0.3', sent: JSON.stringify({ ...get, method: 'message/send' }), code: -32601, id: 7 },
  {
    row: 'A2A-E13 text/plain',
    sent: JSON.stringify(get),
    options: { headers: { 'content-type': 'text/plain' } },
    status: 415,
    code: -32005,
    id: null,
    message: 'Cannot read request: content type must be application/json',
  },
  {
    row: 'A2A-E14 charset utf-16',
    sent: utf16,
    options: { headers: { 'content-type': 'application/json; charset=utf-16' } },
    code: -32700,
    id: null,
    message: 'Cannot read request: charset must be utf-8',
  },
  {
    row: 'A2A-E14 not UTF-8',
    sent: invalidUtf8,
    code: -32700,
    id: null,
    message: 'Cannot read request: not valid UTF-8',
  },
  {
    row: 'A2A-E18 gzip',
    sent: JSON.stringify(get),
    options: { headers: { 'content-encoding': 'gzip' } },
    status: 415,
    code: -32005,
    id: null,
    message: 'Cannot read body: content coding is not supported',
  },
  {
    row: 'A2A-E19 nested without end',
    sent: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${'['.repeat(9_000)}${']'.repeat(9_000)}}`,
    code: -32602,
    id: null,
    message: 'Cannot read request: nested deeper than 64 levels',
  },
]

describe('the gateway refuses a malformed request', () => {
  test.each(rows)('$row', async ({ sent, options, status = 200, code, id, message }) => {
    const answer = await gateway.post(sent, options)
    expect(answer.status).toBe(status)
    expect(answer.body.id).toBe(id)
    expect(answer.body.error?.code).toBe(code)
    if (message) expect(answer.body.error?.message).toBe(message)
    expect(answer.body.error?.data[0]).toMatchObject({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      domain: 'a2a-protocol.org',
    })
  })
})

test('the gateway refuses too many members before it parses them, while text may contain any number of commas', async () => {
  const roomy = await openA2aGateway()
  const sendParts = (parts: string) =>
    roomy.post(
      `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"many","role":"ROLE_USER","parts":[${parts}]}}}`,
    )
  const refused = await sendParts(`{"data":[${'[],'.repeat(30_000)}0]}`)
  expect(refused.body.error).toMatchObject({
    code: -32602,
    message: 'Cannot read request: more than 50000 members and items',
  })
  const accepted = await sendParts(`{"text":"${',[{\\"'.repeat(60_000)}"}`)
  expect(accepted.body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  await roomy.close()
})

test('the gateway accepts the allowed number of members, and refuses one more', async () => {
  const roomy = await openA2aGateway()
  const listTasks = (items: number) => JSON.stringify({ ...get, params: { text: ',', unknown: Array(items).fill(0) } })
  const separators = listTasks(1).match(/[,[{]/g)?.length ?? 0
  // Each further item adds one comma. The one in the text does not count.
  const maxMembers = 50_000 - (separators - 1) + 1
  const accepted = await roomy.post(listTasks(maxMembers))
  expect(accepted.body.result).toMatchObject({ tasks: [] })
  const refused = await roomy.post(listTasks(maxMembers + 1))
  expect(refused.body.error).toMatchObject({ code: -32602 })
  await roomy.close()
})

test('the gateway accepts an id of 1,024 characters, and refuses a longer one (A2A-E06)', async () => {
  const longest = 'x'.repeat(1_024)
  const accepted = await gateway.post(JSON.stringify({ ...get, id: longest }))
  expect([accepted.body.id, accepted.body.error]).toEqual([longest, undefined])
  const refused = await gateway.post(JSON.stringify({ ...get, id: `${longest}x` }))
  expect([refused.body.id, refused.body.error?.code]).toEqual([null, -32600])
})

test('the gateway refuses a notification without effect (A2A-E07)', async () => {
  const before = gateway.receivedMessages.length
  const request = { jsonrpc: '2.0', method: 'SendMessage', params: { message: { ...send, messageId: 'e07' } } }
  const { status, body } = await gateway.post(JSON.stringify(request))
  expect([status, body.id, body.error?.code]).toEqual([200, null, -32600])
  expect(body.error?.message).toBe('Cannot read request: id is missing; notifications are not supported')
  await gateway.sendText('something else')
  expect(gateway.receivedMessages.slice(before).map(({ id }) => id)).not.toContain('e07')
})

test('the last value of a repeated key counts everywhere (A2A-E11)', async () => {
  const parts = '"parts":[{"text":"x"}]'
  const repeatedKeys = `{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"SendMessage","params":{"message":{"messageId":"e11-a","messageId":"e11-b","role":"ROLE_USER",${parts}}}}`
  const { body } = await gateway.post(repeatedKeys)
  expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(gateway.receivedMessages.at(-1)?.id).toBe('e11-b')
  expect(gateway.receivedMessages.at(-1)?.raw).toMatchObject({ params: { message: { messageId: 'e11-b' } } })
})

test('the gateway treats __proto__ and constructor as any other data (A2A-E12)', async () => {
  const data = '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'
  const message = `{"messageId":"e12","role":"ROLE_USER","__proto__":{"taskId":"x"},"parts":[{"data":${data}}],"metadata":${data}}`
  const { body } = await gateway.post(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":${message}}}`)
  expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(({} as { admin?: boolean }).admin).toBeUndefined()
  const [part] = gateway.receivedMessages.at(-1)?.parts ?? []
  const ref = part?.kind === 'artifact' ? part.bytes_ref : undefined
  expect(ref?.kind === 'inline' && Buffer.from(ref.data_base64, 'base64').toString()).toBe(data)
})

test('the gateway ignores a byte-order mark, and does not store it (A2A-E15)', async () => {
  const request = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { ...send, messageId: 'e15' } } }
  const { body } = await gateway.post(`\uFEFF${JSON.stringify(request)}`)
  expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(gateway.receivedMessages.at(-1)?.raw).toEqual(request)
})

describe('a body at the limit (A2A-E16)', () => {
  const filler = (size: number) => JSON.stringify(get).padEnd(size, ' ')
  const isTooLarge = ({ status, headers, body }: A2aAnswer) => {
    expect(status).toBe(413)
    expect(headers.get('connection')).toBe('close')
    expect(body.error).toMatchObject({ code: -32000, message: 'Cannot read body: larger than 20000 bytes' })
  }

  test('passes exactly at the limit', async () => {
    const { status, body } = await gateway.post(filler(20_000))
    expect([status, body.error]).toEqual([200, undefined])
  })

  test('gets a JSON refusal one byte above it, and the connection closes', async () =>
    isTooLarge(await gateway.post(filler(20_001))))

  test('gets the same refusal without a declared length', async () => {
    const chunks = [filler(10_000), ' '.repeat(10_001)].map(text => new TextEncoder().encode(text))
    const init: object = {
      method: 'POST',
      duplex: 'half',
      body: Readable.toWeb(Readable.from(chunks)),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
    }
    isTooLarge(await gateway.request('/a2a', init))
  })
})

describe('the endpoint refuses', () => {
  test.each([
    ['A2A-E21 GET', 'GET', '/a2a', 405, 'POST'],
    ['A2A-E21 GET with a slash', 'GET', '/agents/echo/a2a/', 405, 'POST'],
    ['A2A-E20 DELETE', 'DELETE', '/a2a/', 405, 'POST'],
    ['A2A-E20 PUT of the card', 'PUT', '/.well-known/agent-card.json', 405, 'GET, HEAD'],
    ['A2A-E20 POST to the card', 'POST', '/agents/echo/.well-known/agent-card.json', 405, 'GET, HEAD'],
  ])('%s', async (_, method, path, status, allow) => {
    const answer = await gateway.request(path, { method })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('allow')).toBe(allow)
    expect(answer.body.error?.message).toBe(`Cannot take request: this path accepts only ${allow}`)
  })

  test.each([
    ['unknown', 'nobody'],
    ['A2A-E22 %2F', 'a%2Fb'],
    ['A2A-E22 %00', 'echo%00'],
    ['A2A-E22 ..', '%2e%2e%2f'],
    ['A2A-E22 10 kB', 'x'.repeat(10_000)],
    ['not UTF-8', '%ff'],
    ['a member of objects', '__proto__'],
  ])('an agent by a name that is %s, with 404', async (_, name) => {
    const rpc = await gateway.rpc('ListTasks', {}, { path: `/agents/${name}/a2a` })
    expect([rpc.status, rpc.body.error?.code, rpc.body.error?.message]).toEqual([404, -32000, 'Agent not found'])
    const card = await gateway.request(`/agents/${name}/.well-known/agent-card.json`)
    expect([card.status, card.body.error?.message]).toEqual([404, 'Agent not found'])
  })
})

test('the endpoint answers under every spelling', async () => {
  for (const path of ['/a2a', '/a2a/', '/agents/echo/a2a', '/agents/echo/a2a/']) {
    const { body } = await gateway.sendText('hi', {}, { path })
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  }
})

test('the store keeps refusals for the operator, without their content', async () => {
  await gateway.post('{"secret words')
  const lastRefusal = async () => (await gateway.store.listRefusals({ limit: 1 }))[0]
  await expect
    .poll(lastRefusal)
    .toMatchObject({ via: 'a2a', code: 'malformed', reason: 'Cannot read request: not valid JSON' })
  expect(JSON.stringify(await lastRefusal())).not.toContain('secret words')
})
