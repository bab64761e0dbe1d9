import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { credentials, status } from '@grpc/grpc-js'
import { makeCertificate } from '@postern/http/test-certificate'
import type { Agent, ListeningSocket } from '@postern/pipeline'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { a2aConfigSchema } from '../../src/index.ts'
import { findLeak } from '../setup/answers.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import type { GrpcAnswer, GrpcOptions } from '../setup/grpc-client.ts'
import { openGrpcClient } from '../setup/grpc-client.ts'
import { makeIssuerKey } from '../setup/issuer.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
let endings = 0

const store: Agent = {
  async *handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'hang') await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    else if (text === 'ask') yield { status: 'input_required', parts: [says('which one?')] }
    else if (text === 'flood') for (let index = 0; index < 60; index += 1) yield says('x'.repeat(64 * 1024))
    else {
      yield says('heard: ')
      yield says(text)
    }
    endings += 1
  },
}
const otherAgent: Agent = { handle: () => ({ parts: [says('the other')] }) }

let gateway: A2aTestGateway
let listener: ListeningSocket
let client: ReturnType<typeof openGrpcClient>
const answers: GrpcAnswer[] = []

beforeAll(async () => {
  const limits = { body_bytes: 256 * 1024, streams_per_caller: 3 }
  gateway = await openA2aGateway({ agents: { store, other: otherAgent }, config: { grpc: { port: 0 }, limits } })
  listener = await openListener(gateway)
  client = openGrpcClient(listener.port)
})
afterAll(async () => {
  client.close()
  await listener.close()
  await gateway.close()
})

async function openListener({ channel }: A2aTestGateway): Promise<ListeningSocket> {
  const newListener = await channel.endpoint.listen?.()
  if (!newListener) throw new Error('nothing listens')
  return newListener
}

type Method = Parameters<ReturnType<typeof openGrpcClient>['call']>[0]

async function call(name: Method, request: unknown, { metadata, bytes }: GrpcOptions = {}): Promise<GrpcAnswer> {
  const credentials = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0', ...metadata }
  const answer = await client.call(name, request, { metadata: credentials, bytes })
  answers.push(answer)
  return answer
}

let unique = 0
function message(value: string, overrides: object = {}) {
  unique += 1
  const part = { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
  const emptyMembers = { contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [] }
  return { tenant: '', message: { messageId: `g-${unique}`, role: 1, parts: [part], ...emptyMembers, ...overrides } }
}

const immediateReturn = { acceptedOutputModes: [], returnImmediately: true }

/** Reads the google.rpc.Status of the trailers: its code, its message, and the details by type. */
function readStatus({ status: { metadata } }: GrpcAnswer) {
  const [bytes] = metadata.get('grpc-status-details-bin')
  const fields = readFields(bytes as Buffer)
  const details = fields.filter(([field]) => field === 3).map(([, value]) => readFields(value as Uint8Array))
  const texts = (list: ReturnType<typeof readFields>) => list.map(([field, value]) => [field, String(value)])
  return {
    code: fields.find(([field]) => field === 1)?.[1],
    details: Object.fromEntries(
      details.map(([type, value]) => [
        Buffer.from(type?.[1] as Uint8Array).toString(),
        texts(readFields(value?.[1] as Uint8Array)),
      ]),
    ),
  }
}

function readFields(bytes: Uint8Array): readonly (readonly [number, Buffer | number])[] {
  const reader = new BinaryReader(bytes)
  const fields: (readonly [number, Buffer | number])[] = []
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    fields.push([field, type === 2 ? Buffer.from(reader.bytes()) : reader.int32()])
  }
  return fields
}

const infoType = 'type.googleapis.com/google.rpc.ErrorInfo'
const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'

const infoOf = (reason: string) => [
  [1, reason],
  [2, 'a2a-protocol.org'],
]

describe('the gRPC binding', () => {
  test('has the service of the protobuf file, in proto3 (GRPC-SVC-001, GRPC-SVC-002)', async () => {
    const { messages, status: ended } = await call('sendMessage', message('hi'))
    expect(ended.code).toBe(status.OK)
    expect(messages).toMatchObject([
      { payload: { $case: 'task', value: { status: { state: 3 }, artifacts: [{ parts: [{}] }] } } },
    ])
    const unknown = await client.call('getTask', {}, { bytes: Buffer.alloc(0) })
    expect(unknown.status.code).toBe(status.UNAUTHENTICATED)
  })

  test('sends the messages of a streaming method, and ends the stream (GRPC-ERR-003)', async () => {
    const { messages, status: ended } = await call('sendStreamingMessage', message('hi'))
    expect(ended.code).toBe(status.OK)
    const kinds = messages.map(({ payload }) => payload.$case)
    expect([kinds.at(0), kinds.at(-1)]).toEqual(['task', 'statusUpdate'])
    expect(kinds).toContain('artifactUpdate')
  })

  test('reads version and extensions from the metadata (GRPC-META-001)', async () => {
    const extension = 'https://mentionable.dev/ns/policy/v0.1'
    const answer = await call('sendMessage', message('hi'), { metadata: { 'a2a-extensions': `urn:x, ${extension}` } })
    expect(answer.initial.get('a2a-extensions')).toEqual([extension])
    const patchedAnswer = await call('sendMessage', message('hi'), { metadata: { 'a2a-version': '1.0.1' } })
    expect(patchedAnswer.status.code).toBe(status.OK)
  })

  test.each(['', '0.3', '99.0', '1.0, 0.3'])('refuses version %j (VER-SERVER-002, VER-SERVER-003)', async version => {
    const answer = await call('sendMessage', message('hi'), { metadata: { 'a2a-version': version } })
    expect(answer.status.code).toBe(status.FAILED_PRECONDITION)
    expect(readStatus(answer).details[infoType]).toEqual(infoOf('VERSION_NOT_SUPPORTED'))
  })

  test('has the whole google.rpc.Status in the trailers (GRPC-ERR-001)', async () => {
    const answer = await call('sendMessage', message('hi', { role: 2, parts: [] }))
    expect(answer.status.code).toBe(status.INVALID_ARGUMENT)
    const { code, details } = readStatus(answer)
    expect(code).toBe(status.INVALID_ARGUMENT)
    expect(details[infoType]).toEqual(infoOf('INVALID_PARAMS'))
    const fields = details[badRequestType]?.map(([, text]) => text)
    expect(fields).toEqual([expect.stringContaining('message.role'), expect.stringContaining('message.parts')])
  })

  test('gives A2A errors their codes and ErrorInfo (GRPC-ERR-001, GRPC-ERR-002)', async () => {
    const { messages } = await call('sendMessage', message('hi'))
    const { id } = messages[0].payload.value
    const key = { tenant: '', taskId: id, id: 'none' }
    const rows = [
      [call('getTask', { tenant: '', id: 'none' }), 'NOT_FOUND', 'TASK_NOT_FOUND'],
      [call('cancelTask', { tenant: '', id }), 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
      [call('subscribeToTask', { tenant: '', id }), 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
      [call('subscribeToTask', { tenant: '', id: 'none' }), 'NOT_FOUND', 'TASK_NOT_FOUND'],
      [call('sendMessage', message('hi', { taskId: id })), 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
      [call('getTaskPushNotificationConfig', key), 'NOT_FOUND', 'TASK_NOT_FOUND'],
      [call('listTasks', listOf({ pageSize: 101 })), 'INVALID_ARGUMENT', 'INVALID_PARAMS'],
      [
        call('sendMessage', { ...message('hi'), configuration: { acceptedOutputModes: ['a/b'] } }),
        'INVALID_ARGUMENT',
        'CONTENT_TYPE_NOT_SUPPORTED',
      ],
    ] as const
    for (const [answer, code, reason] of rows) {
      const receivedAnswer = await answer
      expect([status[receivedAnswer.status.code], readStatus(receivedAnswer).details[infoType]]).toEqual([
        code,
        infoOf(reason),
      ])
    }
  })

  test('answers a call without a credential UNAUTHENTICATED with the challenge before it reads the request (A2A-A01)', async () => {
    const answer = await client.call('sendMessage', {}, { bytes: Buffer.from('what is this'), metadata: {} })
    answers.push(answer)
    expect(answer.status).toMatchObject({ code: status.UNAUTHENTICATED })
    expect(answer.status.metadata.get('www-authenticate')).toEqual(['Bearer realm="agents.test"'])
    expect(readStatus(answer).details[infoType]).toEqual(infoOf('UNAUTHENTICATED'))
  })

  test('names a missing scope (A2A-A13)', async () => {
    const token = await gateway.issuer.sign({ scope: 'a2a:task.read' })
    const answer = await call('sendMessage', message('hi'), { metadata: { authorization: `Bearer ${token}` } })
    expect(answer.status.code).toBe(status.PERMISSION_DENIED)
    expect(answer.status.metadata.get('www-authenticate')[0]).toContain('scope="a2a:message.send"')
  })

  test('needs a proof for the path of the method with a bound token', async () => {
    const holder = await makeIssuerKey('holder')
    const token = await gateway.issuer.sign({ cnf: { jkt: await calculateJwkThumbprint(holder.publicJwk) } })
    const prove = (method: string) =>
      new SignJWT({
        jti: method,
        htm: 'POST',
        htu: `https://agents.test/lf.a2a.v1.A2AService/${method}`,
        iat: Math.floor(gateway.system.now() / 1000),
        ath: hash('sha256', token, 'base64url'),
      })
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: holder.publicJwk })
        .sign(holder.privateKey)
    const authorization = `DPoP ${token}`
    const list = async (dpop?: string) =>
      (await call('listTasks', listOf({}), { metadata: { authorization, ...(dpop && { dpop }) } })).status
    expect((await list(await prove('ListTasks'))).code).toBe(status.OK)
    expect(await list(await prove('GetTask'))).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: 'Cannot take request: DPoP proof is for another address',
    })
    expect((await list()).metadata.get('www-authenticate')[0]).toContain('error="invalid_dpop_proof"')
  })

  test('answers every method for another caller’s task as for an unknown one (A2A-T02)', async () => {
    const { messages } = await call('sendMessage', { ...message('ask') })
    const { id } = messages[0].payload.value
    const metadata = { authorization: `Bearer ${await gateway.issuer.sign({ sub: 'bob' })}` }
    const config = { tenant: '', id: '', url: 'https://hook.test/', token: '', authentication: undefined }
    const methods = [
      ['getTask', (task: string) => ({ tenant: '', id: task })],
      ['cancelTask', (task: string) => ({ tenant: '', id: task })],
      ['subscribeToTask', (task: string) => ({ tenant: '', id: task })],
      ['sendMessage', (task: string) => message('x', { taskId: task })],
      ['createTaskPushNotificationConfig', (task: string) => ({ ...config, taskId: task })],
      ['getTaskPushNotificationConfig', (task: string) => ({ tenant: '', taskId: task, id: 'a' })],
      ['listTaskPushNotificationConfigs', (task: string) => ({ tenant: '', taskId: task, pageSize: 0, pageToken: '' })],
      ['deleteTaskPushNotificationConfig', (task: string) => ({ tenant: '', taskId: task, id: 'a' })],
    ] as const
    for (const [name, requestOf] of methods) {
      const readStatus = async (task: string) => {
        const { status: ended, details } = await call(name, requestOf(task), { metadata })
        return { code: ended.code, details: ended.details, bytes: details }
      }
      const ofAnother = await readStatus(id)
      expect(ofAnother.code).toBe(status.NOT_FOUND)
      expect(await readStatus('01234567-89ab-4def-8123-456789abcdef')).toEqual(ofAnother)
    }
  })

  test('reads the agent from the tenant, which the default agent does not need (A2A-A14)', async () => {
    const { messages } = await call('sendMessage', { ...message('hi'), tenant: 'other' })
    const task = messages[0].payload.value
    expect(task.artifacts[0].parts[0].content.value).toBe('the other')
    const readTask = await call('getTask', { tenant: 'other', id: task.id })
    expect(readTask.status.code).toBe(status.OK)
    expect((await call('getTask', { tenant: '', id: task.id })).status.code).toBe(status.NOT_FOUND)
    const answer = await call('sendMessage', { ...message('hi'), tenant: 'nobody' })
    expect(answer.status).toMatchObject({ code: status.NOT_FOUND, details: 'Agent not found' })
  })

  test('makes one task for one message id, together with JSON-RPC (A2A-M12)', async () => {
    const request = message('once')
    const { messages } = await call('sendMessage', request)
    const sentMessage = { messageId: request.message.messageId, role: 'ROLE_USER', parts: [{ text: 'once' }] }
    const { body } = await gateway.rpc('SendMessage', { message: sentMessage })
    expect(body.result.task.id).toBe(messages[0].payload.value.id)
  })

  test('refuses bytes that are not a message (A2A-E01)', async () => {
    const answer = await call('sendMessage', {}, { bytes: Buffer.from([0x0a, 0xff, 0xff, 0x01]) })
    expect(answer.status.code).toBe(status.INVALID_ARGUMENT)
    expect(readStatus(answer).details[infoType]).toEqual(infoOf('PARSE_ERROR'))
  })

  test('refuses text that is not UTF-8 (A2A-E14)', async () => {
    const bad = new BinaryWriter().uint32(18).bytes(
      new BinaryWriter()
        .uint32(10)
        .bytes(Buffer.from([0xff]))
        .finish(),
    )
    const answer = await call('sendMessage', {}, { bytes: Buffer.from(bad.finish()) })
    expect(answer.status.code).toBe(status.INVALID_ARGUMENT)
  })

  test('refuses a message beyond the limit (A2A-E16)', async () => {
    const answer = await call('sendMessage', message('x'.repeat(256 * 1024)))
    expect(answer.status.code).toBe(status.RESOURCE_EXHAUSTED)
  })

  test.each([
    ['parts', (many: Buffer) => many, [0x2a, 0]],
    ['items', inData, [0x0a, 0]],
    ['extensions', (many: Buffer) => many, [0x3a, 0]],
  ])('refuses a message of a hundred thousand tiny %s before it reads it (A2A-M21)', async (_, wrap, item) => {
    const many = wrap(Buffer.concat(Array.from({ length: 100_000 }, () => Buffer.from(item))))
    const messageBytes = Buffer.concat([Buffer.from([0x0a, 1, 0x61, 0x20, 1]), many])
    const bytes = Buffer.from(new BinaryWriter().uint32(18).bytes(messageBytes).finish())
    const answer = await call('sendMessage', {}, { bytes })
    expect(status[answer.status.code]).toBe('INVALID_ARGUMENT')
    expect(readStatus(answer).details[infoType]).toEqual(infoOf('INVALID_PARAMS'))
  })

  test('keeps the prototype despite a member called __proto__ (A2A-E12)', async () => {
    const request = message('proto', { metadata: JSON.parse('{"__proto__":{"polluted":true}}') })
    expect((await call('sendMessage', request)).status.code).toBe(status.OK)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each([
    ['A2A-E19 data nested 100 deep', 100],
    ['A2A-E19 data nested 3,000 deep', 3_000],
  ])('refuses %s', async (_, depth) => {
    let value = new BinaryWriter().uint32(8).int32(0).finish()
    for (let index = 0; index < depth; index += 1) {
      const list = new BinaryWriter().uint32(10).bytes(value).finish()
      value = new BinaryWriter().uint32(50).bytes(list).finish()
    }
    const part = new BinaryWriter().uint32(34).bytes(value).finish()
    const messageBytes = new BinaryWriter()
      .uint32(10)
      .string('deep')
      .uint32(32)
      .int32(1)
      .uint32(42)
      .bytes(part)
      .finish()
    const bytes = Buffer.from(new BinaryWriter().uint32(18).bytes(messageBytes).finish())
    const answer = await call('sendMessage', {}, { bytes })
    expect(answer.status.code).toBe(status.INVALID_ARGUMENT)
  })

  test('frees the listener of a canceled call, and the task continues (A2A-S03)', async () => {
    const { messages } = await call('sendMessage', { ...message('hang'), configuration: immediateReturn })
    const { id } = messages[0].payload.value
    const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
    for (let round = 0; round < 6; round += 1) {
      const stream = client.start('subscribeToTask', { tenant: '', id }, { metadata })
      const ended = new Promise(resolve => stream.on('error', resolve))
      await new Promise(resolve => stream.once('data', resolve))
      stream.cancel()
      await ended
      // These are more streams than a caller may have open, but each has ended and no longer counts.
      await expect.poll(async () => (await call('getTask', { tenant: '', id })).status.code).toBe(status.OK)
    }
    expect((await call('cancelTask', { tenant: '', id })).status.code).toBe(status.OK)
  })

  test('disconnects a client that does not read (A2A-S04)', async () => {
    const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
    const before = endings
    const stream = client.start('sendStreamingMessage', message('flood'), { metadata })
    // The call may end before the test waits for it.
    const endCode = new Promise<number>(resolve =>
      stream.on('error', error => resolve((error as never as { code: number }).code)),
    )
    stream.pause()
    await expect.poll(() => endings).toBe(before + 1)
    stream.resume()
    expect(await endCode).toBe(status.RESOURCE_EXHAUSTED)
  })

  test('ends a stream with the token of its caller, and the task continues', async () => {
    const { messages } = await call('sendMessage', { ...message('hang'), configuration: immediateReturn })
    const { id } = messages[0].payload.value
    const [now, toleranceSeconds] = [Math.floor(gateway.system.now() / 1000), 30]
    const token = await gateway.issuer.sign({ iat: now - 60, nbf: now - 60, exp: now + 2 - toleranceSeconds })
    const metadata = { authorization: `Bearer ${token}`, 'a2a-version': '1.0' }
    const stream = client.start('subscribeToTask', { tenant: '', id }, { metadata })
    stream.on('data', () => undefined)
    const ended = await new Promise(resolve => stream.once('status', resolve))
    expect(ended).toMatchObject({ code: status.OK })
    expect((await call('cancelTask', { tenant: '', id })).status.code).toBe(status.OK)
  })

  test('refuses streams beyond a caller’s limit (A2A-S05)', async () => {
    const { messages } = await call('sendMessage', { ...message('hang'), configuration: immediateReturn })
    const { id } = messages[0].payload.value
    const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
    const subscriptions = Array.from({ length: 3 }, () =>
      client.start('subscribeToTask', { tenant: '', id }, { metadata }),
    )
    for (const stream of subscriptions) {
      stream.on('error', () => {})
      await new Promise(resolve => stream.once('data', resolve))
    }
    const answer = await call('subscribeToTask', { tenant: '', id })
    expect(answer.status.code).toBe(status.RESOURCE_EXHAUSTED)
    expect(answer.status.metadata.get('retry-after')).toEqual(['10'])
    for (const stream of subscriptions) stream.cancel()
  })

  test('appears on each agent’s card with its tenant', async () => {
    const config = { grpc: { port: 0, address: 'agents.test:443' } }
    const gatewayWithAgents = await openA2aGateway({ agents: { store, other: otherAgent }, config, runsWorker: false })
    const interfaces = async (path: string) =>
      (await gatewayWithAgents.request(path)).body as never as {
        supportedInterfaces: readonly { protocolBinding: string }[]
      }
    const { supportedInterfaces: first } = await interfaces('/.well-known/agent-card.json')
    const row = { url: 'agents.test:443', protocolBinding: 'GRPC', protocolVersion: '1.0' }
    expect(first.filter(({ protocolBinding }) => protocolBinding === 'GRPC')).toEqual([row])
    const { supportedInterfaces: second } = await interfaces('/agents/other/.well-known/agent-card.json')
    expect(second.at(-1)).toEqual({ ...row, tenant: 'other' })
    await gatewayWithAgents.close()
  })

  test('reveals nothing in its answers that the peer may not know (A2A-A01)', () => {
    for (const { status: ended, details } of answers) {
      const refusalText = `${ended.details}\n${details}`
      expect([refusalText, findLeak(refusalText)]).toEqual([refusalText, undefined])
    }
    expect(answers.length).toBeGreaterThan(30)
  })
})

/** Writes the items of a list that is the data of a part. */
function inData(items: Buffer): Buffer {
  const value = new BinaryWriter().uint32(50).bytes(items).finish()
  const part = new BinaryWriter().uint32(34).bytes(value).finish()
  return Buffer.from(new BinaryWriter().uint32(42).bytes(part).finish())
}

function listOf(overrides: object) {
  return { tenant: '', contextId: '', status: 0, pageToken: '', ...overrides }
}

describe('the socket of gRPC', () => {
  test('uses TLS with files (GRPC-SVC-003)', async () => {
    const { key, cert } = makeCertificate('localhost')
    const directory = mkdtempSync(join(tmpdir(), 'grpc-'))
    const tls = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
    writeFileSync(tls.certificate, cert)
    writeFileSync(tls.key, key)
    const secureGateway = await openA2aGateway({ config: { grpc: { port: 0, tls } } })
    const socket = await openListener(secureGateway)
    const safe = openGrpcClient(socket.port, credentials.createSsl(Buffer.from(cert)))
    const metadata = { authorization: `Bearer ${secureGateway.token}`, 'a2a-version': '1.0' }
    expect((await safe.call('sendMessage', message('hi'), { metadata })).status.code).toBe(status.OK)
    const plainClient = openGrpcClient(socket.port)
    expect((await plainClient.call('sendMessage', message('hi'), { metadata })).status.code).toBe(status.UNAVAILABLE)
    safe.close()
    plainClient.close()
    await socket.close()
    await secureGateway.close()
  })

  test('names a certificate that it cannot use', async () => {
    const tls = { certificate: '/none', key: '/none' }
    const secureGateway = await openA2aGateway({ config: { grpc: { port: 0, tls } }, runsWorker: false })
    await expect(openListener(secureGateway)).rejects.toMatchObject({ name: 'ConfigError', key: 'a2a.grpc.tls' })
    await secureGateway.close()
  })

  test('listens without TLS only on loopback or behind a proxy (AUTH-TLS-001)', () => {
    const parse = (grpc: object) => a2aConfigSchema.safeParse({ grpc: { port: 1, ...grpc } }).success
    expect(parse({})).toBe(true)
    expect(parse({ host: '0.0.0.0' })).toBe(false)
    expect(parse({ host: '0.0.0.0', behind_proxy: true })).toBe(true)
    expect(parse({ host: '0.0.0.0', tls: { certificate: 'a', key: 'b' } })).toBe(true)
  })

  test('refuses calls of one address beyond its limit before any other check', async () => {
    const limitedGateway = await openA2aGateway({ config: { grpc: { port: 0, per_address: 3 } }, runsWorker: false })
    const socket = await openListener(limitedGateway)
    const caller = openGrpcClient(socket.port)
    const codes = []
    for (let index = 0; index < 4; index += 1)
      codes.push((await caller.call('getTask', {}, { bytes: Buffer.alloc(0) })).status)
    expect(codes.map(({ code }) => status[code])).toEqual([
      ...Array.from({ length: 3 }, () => 'UNAUTHENTICATED'),
      'RESOURCE_EXHAUSTED',
    ])
    expect(Number(codes.at(-1)?.metadata.get('retry-after')[0])).toBeGreaterThan(0)
    caller.close()
    await socket.close()
    await limitedGateway.close()
  })

  test('ends streams cleanly at shutdown, and answers waiting calls (A2A-S07)', async () => {
    const agentGateway = await openA2aGateway({ agents: { store }, config: { grpc: { port: 0 } } })
    const socket = await openListener(agentGateway)
    const caller = openGrpcClient(socket.port)
    const metadata = { authorization: `Bearer ${agentGateway.token}`, 'a2a-version': '1.0' }
    const firstAnswer = await caller.call(
      'sendMessage',
      { ...message('hang'), configuration: immediateReturn },
      { metadata },
    )
    const stream = caller.start(
      'subscribeToTask',
      { tenant: '', id: firstAnswer.messages[0].payload.value.id },
      { metadata },
    )
    const endCode = new Promise<number>(resolve => stream.on('status', ({ code }) => resolve(code)))
    await new Promise(resolve => stream.once('data', resolve))
    stream.resume()
    const waitingCall = caller.call('sendMessage', message('hang'), { metadata })
    await expect.poll(() => agentGateway.receivedMessages.length).toBe(2)
    agentGateway.channel.endpoint.release?.()
    await socket.close()
    expect(await endCode).toBe(status.OK)
    const { messages, status: answered } = await waitingCall
    expect([answered.code, messages[0]?.payload.$case]).toEqual([status.OK, 'task'])
    caller.close()
    await agentGateway.close()
  })

  test('loads no code unless it is configured', () => {
    const names = readdirSync(new URL('../../src/', import.meta.url), { recursive: true }).map(String)
    const otherFiles = names.filter(name => name.endsWith('.ts') && !name.startsWith('grpc'))
    const loading = otherFiles.filter(name =>
      /^(import|export) (?!type\b).* from '(.*\/grpc\/|@grpc|@bufbuild|@a2a-js)/m.test(
        readFileSync(new URL(`../../src/${name}`, import.meta.url), 'utf8'),
      ),
    )
    expect(loading).toEqual([])
    expect(otherFiles.length).toBeGreaterThan(50)
  })

  test('does not exist unless it is configured', async () => {
    const plainGateway = await openA2aGateway({ runsWorker: false })
    expect(plainGateway.channel.endpoint.listen).toBeUndefined()
    await plainGateway.close()
  })
})
