import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({
    agents: {
      echo: {
        handle: ({ parts }) => ({ parts: parts.length > 0 ? parts : [] }),
      },
    },
  })
})
afterAll(() => gateway.close())

const png = { raw: 'aGVsbG8=', mediaType: 'image/png' }

interface Row {
  readonly row: string
  readonly message: object
  readonly field: string
  readonly description?: string
}

const rows: readonly Row[] = [
  { row: 'A2A-M01 parts missing', message: { parts: undefined }, field: 'message.parts', description: 'is required' },
  { row: 'A2A-M01 parts empty', message: { parts: [] }, field: 'message.parts', description: 'must hold at least 1' },
  { row: 'A2A-M01 parts a string', message: { parts: 'x' }, field: 'message.parts', description: 'must be an array' },
  { row: 'A2A-M01 parts null', message: { parts: null }, field: 'message.parts', description: 'is required' },
  {
    row: 'A2A-M02 part without content',
    message: { parts: [{}] },
    field: 'message.parts[0]',
    description: 'must hold exactly one of text, raw, url, data',
  },
  { row: 'A2A-M02 second part', message: { parts: [{ text: 'x' }, {}] }, field: 'message.parts[1]' },
  { row: 'part null', message: { parts: [null] }, field: 'message.parts[0]', description: 'must be an object' },
  {
    row: 'A2A-M03 text and url',
    message: { parts: [{ text: 'x', url: 'https://a.test/' }] },
    field: 'message.parts[0]',
  },
  { row: 'A2A-M03 text and null data', message: { parts: [{ text: 'x', data: null }] }, field: 'message.parts[0]' },
  {
    row: 'A2A-M05 text a number',
    message: { parts: [{ text: 5 }] },
    field: 'message.parts[0].text',
    description: 'must be a string',
  },
  {
    row: 'A2A-M06 raw not base64',
    message: { parts: [{ raw: '***' }] },
    field: 'message.parts[0].raw',
    description: 'must be base64',
  },
  { row: 'A2A-M06 raw cut short', message: { parts: [{ raw: 'aGVsb' }] }, field: 'message.parts[0].raw' },
  ...[
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://a.test/',
    'https://u:p@a.test/',
    'https://u@a.test/',
    '/relative',
    5,
  ].map(url => ({
    row: `A2A-M08 url ${url}`,
    message: { parts: [{ url }] },
    field: 'message.parts[0].url',
  })),
  { row: 'A2A-M09 role missing', message: { role: undefined }, field: 'message.role', description: 'is required' },
  { row: 'A2A-M09 role of 0.3', message: { role: 'user' }, field: 'message.role' },
  {
    row: 'A2A-M09 role a number',
    message: { role: 7 },
    field: 'message.role',
    description: 'must be one of ROLE_USER',
  },
  { row: 'A2A-M10 role of an agent', message: { role: 'ROLE_AGENT' }, field: 'message.role' },
  { row: 'A2A-M11 messageId missing', message: { messageId: undefined }, field: 'message.messageId' },
  {
    row: 'A2A-M11 messageId empty',
    message: { messageId: '' },
    field: 'message.messageId',
    description: 'must not be empty',
  },
  { row: 'A2A-M11 messageId a number', message: { messageId: 5 }, field: 'message.messageId' },
  { row: 'A2A-M11 messageId an object', message: { messageId: {} }, field: 'message.messageId' },
  { row: 'A2A-M11 messageId of 10 kB', message: { messageId: 'x'.repeat(10_240) }, field: 'message.messageId' },
  { row: 'messageId of two lines', message: { messageId: 'a\r\nb' }, field: 'message.messageId' },
  { row: 'A2A-M15 metadata a string', message: { metadata: 'x' }, field: 'message.metadata' },
  {
    row: 'A2A-M15 metadata an array',
    message: { metadata: [] },
    field: 'message.metadata',
    description: 'must be an object',
  },
  {
    row: 'A2A-M15 metadata of a part',
    message: { parts: [{ text: 'x', metadata: 1 }] },
    field: 'message.parts[0].metadata',
  },
  {
    row: 'A2A-M21 10,000 parts',
    message: { parts: Array.from({ length: 10_000 }, () => ({ text: 'x' })) },
    field: 'message.parts',
    description: 'must hold at most 1000',
  },
  {
    row: 'A2A-M21 1,000 referenceTaskIds',
    message: { referenceTaskIds: Array.from({ length: 1_000 }, () => 'x') },
    field: 'message.referenceTaskIds',
  },
  { row: 'contextId a number', message: { contextId: 5 }, field: 'message.contextId' },
  { row: 'taskId an object', message: { taskId: {} }, field: 'message.taskId' },
  {
    row: 'mediaType none',
    message: { parts: [{ text: 'x', mediaType: 'text' }] },
    field: 'message.parts[0].mediaType',
  },
]

describe('the gateway refuses an incomplete message and names the wrong member', () => {
  test.each(rows)('$row', async ({ message, field, description }) => {
    const { status, body } = await gateway.sendText('x', message)
    expect([status, body.id, body.error?.code]).toEqual([200, 1, -32602])
    const [info, request] = body.error?.data ?? []
    expect(info).toMatchObject({ reason: 'INVALID_PARAMS' })
    expect(request['@type']).toBe('type.googleapis.com/google.rpc.BadRequest')
    expect(request.fieldViolations[0].field).toBe(field)
    if (description) expect(request.fieldViolations[0].description).toBe(description)
    expect(body.error?.message).toBe(`Cannot SendMessage: ${field} ${request.fieldViolations[0].description}`)
  })

  test('with all its faults at once, up to a bound', async () => {
    const { body } = await gateway.sendText('x', { role: 7, messageId: '', parts: [{}, { text: 5 }] })
    const fields = body.error?.data[1].fieldViolations.map(({ field }: { field: string }) => field)
    expect(fields).toEqual(['message.messageId', 'message.role', 'message.parts[0]', 'message.parts[1].text'])
    const many = await gateway.sendText('x', { parts: Array.from({ length: 500 }, () => ({})) })
    expect(many.body.error?.data[1].fieldViolations).toHaveLength(16)
  })

  test('that is missing, null or a string', async () => {
    for (const message of [undefined, null, 'x']) {
      const { body } = await gateway.rpc('SendMessage', { message })
      expect(body.error?.data[1].fieldViolations[0].field).toBe('message')
    }
  })

  test('before it reaches the store', async () => {
    const { messages } = await gateway.store.count()
    await gateway.sendText('x', { parts: [] })
    expect((await gateway.store.count()).messages).toEqual(messages)
  })
})

describe('a configuration', () => {
  test.each([
    ['A2A-M16 returnImmediately "false"', { returnImmediately: 'false' }, 'configuration.returnImmediately'],
    ['A2A-M17 historyLength -1', { historyLength: -1 }, 'configuration.historyLength'],
    ['A2A-M17 historyLength 1.5', { historyLength: 1.5 }, 'configuration.historyLength'],
    ['A2A-M17 historyLength "abc"', { historyLength: 'abc' }, 'configuration.historyLength'],
    ['A2A-M17 historyLength 1e10', { historyLength: 1e10 }, 'configuration.historyLength'],
    ['acceptedOutputModes a string', { acceptedOutputModes: 'text/plain' }, 'configuration.acceptedOutputModes'],
  ])('%s', async (_, configuration, field) => {
    const { body } = await gateway.sendText('x', {}, { configuration })
    expect(body.error?.code).toBe(-32602)
    expect(body.error?.data[1].fieldViolations[0].field).toBe(field)
  })

  test('with a tenant gets a refusal, since the interfaces have none', async () => {
    const message = { messageId: 't', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const { body } = await gateway.rpc('SendMessage', { tenant: 'acme', message })
    expect(body.error).toMatchObject({
      code: -32602,
      message: 'Cannot SendMessage: tenant is not a tenant of this agent',
    })
  })

  test('with a part of an undeclared media type gets -32005 (A2A-M18)', async () => {
    const { status, body } = await gateway.sendText('x', {
      parts: [{ text: 'x' }, { raw: '', mediaType: 'application/x-exe' }],
    })
    expect([status, body.error?.code, body.error?.data[0].reason]).toEqual([200, -32005, 'CONTENT_TYPE_NOT_SUPPORTED'])
    expect(body.error?.data[1].fieldViolations[0].field).toBe('message.parts[1].mediaType')
  })

  test('that accepts none of our output modes gets -32005 (A2A-M19)', async () => {
    const refused = await gateway.sendText('x', {}, { configuration: { acceptedOutputModes: ['video/mp4'] } })
    expect(refused.body.error).toMatchObject({
      code: -32005,
      message: 'Cannot SendMessage: acceptedOutputModes names none of the output modes of this agent',
    })
    for (const mode of ['text/plain', 'Text/Markdown; charset=utf-8', 'text/*', 'text', '*/*']) {
      const accepted = await gateway.sendText('x', {}, { configuration: { acceptedOutputModes: ['video/mp4', mode] } })
      expect(accepted.body.error).toBeUndefined()
    }
  })
})

describe('the gateway accepts unusual but valid messages:', () => {
  async function roundTrip(part: object) {
    const { body } = await gateway.sendText('', { parts: [part] })
    return {
      sent: gateway.receivedMessages.at(-1)?.parts[0],
      back: body.result?.task.artifacts[0].parts[0],
      error: body.error,
    }
  }

  test('a messageId of 256 characters', async () => {
    const longest = 'm'.repeat(256)
    await gateway.sendText('hi', { messageId: longest })
    expect(gateway.receivedMessages.at(-1)?.id).toBe(longest)
    const { body } = await gateway.sendText('hi', { messageId: `${longest}m` })
    expect(body.error?.data[1].fieldViolations[0].field).toBe('message.messageId')
  })

  test('with the discriminator of 0.3, as an unknown field (A2A-M04)', async () => {
    const { sent } = await roundTrip({ kind: 'text', text: 'old' })
    expect(sent).toEqual({ kind: 'text', mime: 'text/plain', content: 'old' })
  })

  test('with base64url without padding (A2A-M06)', async () => {
    const { sent, back } = await roundTrip({ raw: '-_8', mediaType: 'image/png' })
    expect(sent).toMatchObject({ kind: 'file', size: 2 })
    expect(back).toEqual({ raw: '+/8=', mediaType: 'image/png' })
  })

  test('with any JSON value as data, including null, unchanged in both directions (A2A-M07)', async () => {
    for (const data of [null, 0, -1.5e-7, '', 'text', false, [], {}, { a: [1, { b: null }], ü: '\u2028' }]) {
      const { sent, back } = await roundTrip({ data })
      expect(sent).toMatchObject({ kind: 'artifact', artifact_type: 'data', mime: 'application/json', data })
      expect(back).toEqual({ data, mediaType: 'application/json' })
    }
  })

  test('with raw bytes, which it stores once by their digest and returns unchanged (MN-4.1)', async () => {
    const { sent, back } = await roundTrip({ ...png, filename: 'a.png' })
    const digest = hash('sha256', 'hello')
    const ref = { kind: 'content_addressed', algo: 'sha256', digest }
    expect(sent).toEqual({ kind: 'file', name: 'a.png', mime: 'image/png', size: 5, bytes_ref: ref })
    expect(back).toEqual({ raw: 'aGVsbG8=', filename: 'a.png', mediaType: 'image/png' })
    expect(Buffer.from((await gateway.store.findBlob(digest))?.bytes ?? []).toString()).toBe('hello')
  })

  test('with a file by https URL, which it names and never fetches (A2A-M08, MN-4.1)', async () => {
    const { sent, back } = await roundTrip({ url: 'https://files.test/a.pdf', mediaType: 'application/pdf' })
    const ref = { kind: 'url', url: 'https://files.test/a.pdf', foreign: true }
    expect(sent).toEqual({ kind: 'file', mime: 'application/pdf', bytes_ref: ref })
    const metadata = { mentionable: { kind: 'file', foreign: true } }
    expect(back).toEqual({ url: 'https://files.test/a.pdf', mediaType: 'application/pdf', metadata })
  })

  test('with lone surrogates, NUL and bidi controls, without harm (A2A-M20)', async () => {
    const { back, error } = await roundTrip({ text: 'a\u0000b\u202ec\ud800d' })
    expect(error).toBeUndefined()
    expect(back.text).toBe('abc\ufffdd')
  })

  test('with a file name, which is never a path (A2A-M22)', async () => {
    const { sent } = await roundTrip({ ...png, filename: '../../etc/passwd' })
    expect(sent).toMatchObject({ name: 'passwd', bytes_ref: { kind: 'content_addressed' } })
  })

  test.each([
    ['a line end and a control', 'a\r\n\u0000b.png', 'ab.png'],
    ['controls of direction', 'a\u202egnp.exe', 'agnp.exe'],
    ['half a character', 'a\ud800.png', 'a\ufffd.png'],
    ['more than a thousand characters', `${'x'.repeat(5_000)}.png`, `${'x'.repeat(116)}.png`],
    ['nothing that can be seen', '\u0000\u200b', 'attachment-1'],
    ['no characters', '', undefined],
  ])('with a file whose name has %s, under a safe name', async (_, filename, name) => {
    const { sent, back, error } = await roundTrip({ ...png, filename })
    expect(error).toBeUndefined()
    expect((sent as { name?: string }).name).toBe(name)
    expect(back.filename).toBe(name)
  })

  test('with null or an empty string for an optional member, which means absent (ProtoJSON)', async () => {
    const nothing = { contextId: '', taskId: null, metadata: null, extensions: null, referenceTaskIds: null }
    const { body } = await gateway.sendText('x', nothing, { configuration: { historyLength: null } as object })
    expect(body.error).toBeUndefined()
  })

  test('with markdown and HTML, which keep their type, while other text is plain for the agent', async () => {
    expect((await roundTrip({ text: '*x*', mediaType: 'text/markdown' })).sent).toMatchObject({ mime: 'text/markdown' })
    expect((await roundTrip({ text: '<p>x</p>', mediaType: 'Text/HTML; charset=utf-8' })).sent).toMatchObject({
      mime: 'text/html',
    })
    expect((await roundTrip({ text: 'a,b', mediaType: 'text/csv' })).sent).toMatchObject({ mime: 'text/plain' })
  })
})

describe('a repeated message', () => {
  test('gets the same task as an answer, and the agent runs once (A2A-M12)', async () => {
    const before = gateway.receivedMessages.length
    const first = await gateway.sendText('once', { messageId: 'm12' })
    const again = await gateway.sendText('once', { messageId: 'm12' })
    expect(again.body.result).toEqual(first.body.result)
    expect(gateway.receivedMessages.slice(before)).toHaveLength(1)
  })

  test('may come simultaneously, with members in another order and another configuration (A2A-M12)', async () => {
    const before = gateway.receivedMessages.length
    const message = { messageId: 'm12-b', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const turned = { parts: [{ text: 'x' }], role: 'ROLE_USER', messageId: 'm12-b' }
    const [first, second] = await Promise.all([
      gateway.rpc('SendMessage', { message }),
      gateway.rpc('SendMessage', { message: turned, configuration: { historyLength: 1 } }),
    ])
    expect(second.body.result.task.id).toBe(first.body.result.task.id)
    expect(gateway.receivedMessages.slice(before)).toHaveLength(1)
  })

  test('fails with another body (A2A-M13)', async () => {
    await gateway.sendText('one thing', { messageId: 'm13' })
    const { body } = await gateway.sendText('another', { messageId: 'm13' })
    expect(body.error).toMatchObject({
      code: -32602,
      message: 'Cannot SendMessage: message.messageId was used for another message',
    })
    expect(gateway.refusals.at(-1)).toMatchObject({ code: 'malformed', reason: body.error?.message })
  })

  test('from another caller is a different message (A2A-M14)', async () => {
    const bob = await gateway.issuer.sign({ sub: 'bob' })
    const first = await gateway.sendText('mine', { messageId: 'm14' })
    const second = await gateway.sendText('not yours', { messageId: 'm14' }, { token: bob })
    expect(second.body.result.task.id).not.toBe(first.body.result.task.id)
  })
})

describe('the agent’s input', () => {
  test('is the documented message, with evidence of the transport', async () => {
    const metadata = { mentionable: { in_reply_to: 'earlier' }, from: 'mallory' }
    const { body } = await gateway.sendText('hi', { messageId: 'n-1', metadata })
    const { raw, history, received_at, ...heard } = gateway.receivedMessages.at(-1)!
    expect(heard).toEqual({
      id: 'n-1',
      kind: 'message',
      thread_id: expect.stringMatching(/^[\da-f-]{36}$/),
      thread_source: body.result.task.id,
      in_reply_to: 'earlier',
      sender: {
        address: '@alice@issuer.test',
        auth_method: 'a2a-jwt',
        verified: true,
        key_id: 'key-1',
        identities: [
          {
            subject: 'alice',
            issuer: 'https://issuer.test',
            method: 'urn:mentionable:auth:a2a-jwt:v0.1',
            assurance: 'oauth',
            audience: '@echo@agents.test',
            issued_at: received_at,
            proof: { type: 'transport', verified_by: 'a2a-jwt', key_id: 'key-1' },
          },
        ],
      },
      recipient: '@echo@agents.test',
      parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }],
      recipient_capabilities: { mention_relay: { kind: 'none' } },
      received_via: 'a2a',
    })
    expect(history).toEqual([])
    expect(raw).toMatchObject({ method: 'SendMessage', params: { message: { messageId: 'n-1', metadata } } })
  })

  test('contains no credential, in raw or in the operator’s view', async () => {
    const mentionable = {
      verifiable_credentials: [{ proof: 'vc-secret' }],
      identity_evidence: [{ proof: 'evidence-secret' }],
      in_reply_to: 'kept',
    }
    await gateway.sendText('hi', { messageId: 'n-2', metadata: { mentionable, other: 1 } })
    expect(gateway.receivedMessages.at(-1)?.raw).toMatchObject({
      params: { message: { metadata: { mentionable: { in_reply_to: 'kept' }, other: 1 } } },
    })
    const record = JSON.stringify(await gateway.store.findMessage('n-2'))
    expect(record).toContain('kept')
    expect(record).not.toContain('secret')
    expect(record).not.toContain(gateway.token)
  })

  test('contains no credential that came beside the message', async () => {
    const mentionable = { identity_evidence: [{ proof: 'evidence-secret' }], other: 'kept' }
    const message = { messageId: 'n-3', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    await gateway.rpc('SendMessage', { message, metadata: { mentionable } })
    expect(gateway.receivedMessages.at(-1)?.raw).toMatchObject({
      params: { metadata: { mentionable: { other: 'kept' } } },
    })
    expect(JSON.stringify(await gateway.store.findMessage('n-3'))).not.toContain('secret')
  })

  test('has an agent chain within our hop limit (A2A-C10, MN-8.3)', async () => {
    const chain = (hop: unknown, max_hops: unknown) => ({
      metadata: { mentionable: { agent_chain: { hop, max_hops } } },
    })
    await gateway.sendText('x', chain(2, 50))
    const readAgentChain = () => gateway.receivedMessages.at(-1)?.recipient_capabilities.agent_chain
    expect(readAgentChain()).toEqual({ hop: 2, max_hops: 5, is_final: false })
    await gateway.sendText('x', chain(3, 3))
    expect(readAgentChain()).toEqual({ hop: 3, max_hops: 3, is_final: true })
    const tooFar = await gateway.sendText('x', chain(6, 50))
    expect([tooFar.status, tooFar.body.error?.message]).toEqual([
      403,
      'Cannot take message: agent chain is longer than 5 hops',
    ])
    expect(tooFar.body.error?.data[0].reason).toBe('PERMISSION_DENIED')
  })

  test.each([
    ['1', 3],
    [1, '3'],
    [0, 3],
    [1, 0],
    [-1, 3],
    [1, -3],
    [1.5, 3],
    [1, 2.5],
    [1, 2 ** 53],
    [undefined, 3],
    [1, null],
  ])('is malformed for an agent chain of hop %j and max_hops %j (A2A-C10)', async (hop, max_hops) => {
    const metadata = { mentionable: { agent_chain: { hop, max_hops } } }
    const { body } = await gateway.sendText('x', { metadata })
    expect(body.error?.code).toBe(-32602)
    expect(body.error?.data[1].fieldViolations[0].field).toBe('message.metadata.mentionable.agent_chain')
  })
})

test('the gateway refuses base64 that is nearly all padding in linear time', async () => {
  const raw = `${'='.repeat(1_000_000)}x=`
  const { body } = await gateway.sendText('', { parts: [{ raw }] })
  expect(body.error?.message).toBe('Cannot SendMessage: message.parts[0].raw must be base64')
})
