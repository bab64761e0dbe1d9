import { createHmac } from 'node:crypto'
import type { NormalizedMessage } from '@postern/message'
import { noLog, normalizedMessageSchema, Unavailable, Undeliverable } from '@postern/message'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AgentGatewayOptions } from '../../test/gateway.ts'
import { aliceSender, openAgentGateway, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import type { ReceivedWebhook, Respond } from '../../test/webhook-server.ts'
import { openWebhookServer } from '../../test/webhook-server.ts'

const secret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'

interface WebhookOptions extends AgentGatewayOptions {
  readonly config?: Readonly<Record<string, unknown>>
}

async function openWebhookAgent(respond: Respond, { config, ...options }: WebhookOptions = {}) {
  const server = await openWebhookServer(respond)
  onTestFinished(server.close)
  const { agent } = await openTestAgent({ use: 'webhook', url: server.url, secret, ...config }, options)
  return {
    received: server.received,
    ask: async (message: NormalizedMessage = testMessage('hello'), context = testContext()) =>
      agent.handle(message, context),
  }
}

/** Returns the answer that a turn makes from one reply. */
async function answerTo(reply: Awaited<ReturnType<Respond>>, options?: WebhookOptions) {
  const { ask } = await openWebhookAgent(() => reply, options)
  return ask()
}

/** Verifies a request as a receiver does (Standard Webhooks 1.0.0). */
function isSigned({ headers, body }: ReceivedWebhook): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

describe('a webhook agent', () => {
  test('gets a signed "forget" call for a forgotten person, and gets it again until it answers with success', async () => {
    const answers = [{ status: 503, headers: { 'retry-after': '7' } }, { status: 422 }, { status: 204 }]
    const server = await openWebhookServer(() => answers.shift() ?? { status: 500 })
    onTestFinished(server.close)
    const config = { use: 'webhook', url: server.url, secret, receives: ['message', 'forget'] }
    const { agent } = await openTestAgent(config)
    const forgotten = { person: 'p1', addresses: [{ via: 'email', address: '@a@b.test' }], threads: ['t1'] }
    const forget = async () => agent.forget?.(forgotten, { id: 'f1', signal: new AbortController().signal, log: noLog })
    await expect(forget()).rejects.toMatchObject({ name: 'Unavailable', retryAfter: 7 })
    await expect(forget()).rejects.toThrow('422')
    await forget()
    expect(server.received.map(({ body }) => JSON.parse(body))).toEqual(Array(3).fill({ kind: 'forget', ...forgotten }))
    expect(server.received.map(({ headers }) => headers['webhook-id'])).toEqual(['f1', 'f1', 'f1'])
    expect(server.received.every(isSigned)).toBe(true)
  })

  test('gets no "forget" call unless "receives" contains "forget"', async () => {
    const { agent } = await openTestAgent({ use: 'webhook', url: 'http://127.0.0.1:1/', secret })
    expect(agent.forget).toBeUndefined()
  })

  test('gets the whole message as JSON, with a signature', async () => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }))
    const turn = {
      role: 'user' as const,
      sender: { address: '@a@b.test' },
      parts: [],
      timestamp: '2026-01-01T00:00:00Z',
    }
    // MN-8.3 requires the position in the agent chain.
    const agent_chain = { hop: 2, max_hops: 5, is_final: false }
    const message = testMessage('hällo', {
      sender: aliceSender,
      history: [turn],
      recipient_capabilities: { mention_relay: { kind: 'none' }, agent_chain },
    })
    await ask(message)
    const [webhook] = received
    expect(normalizedMessageSchema.parse(JSON.parse(webhook?.body ?? ''))).toEqual(message)
    expect(webhook?.headers['content-type']).toBe('application/json')
    expect(webhook && isSigned(webhook)).toBe(true)
  })

  test.each(['message', 'conversation'])(
    'of the format %s learns the speaker, and can set the person’s state',
    async format => {
      const result = format === 'message' ? {} : { messages: [{ role: 'assistant', content: 'hi' }] }
      const reply = { status: 200, body: JSON.stringify({ ...result, person_state: { seen: 2 } }) }
      const { ask, received } = await openWebhookAgent(() => reply, { config: { format } })
      const set = vi.fn()
      const addresses = [{ via: 'email', address: '@a@b.test' }]
      const state = { get: async () => undefined, set }
      await ask(testMessage('1'), testContext({ person: { id: 'p1', addresses, state } }))
      await ask(testMessage('2'), testContext({ person: { id: 'p2', addresses }, isPublic: async () => true }))
      await ask(testMessage('3'))
      const requests = received
        .map(({ body }) => JSON.parse(body))
        .map(body => (format === 'message' ? body : body.payload))
      expect(requests.map(({ person, is_public }) => [person, is_public])).toEqual([
        [{ id: 'p1', addresses, state: null }, undefined],
        [{ id: 'p2', addresses }, true],
        [undefined, undefined],
      ])
      expect(set).toHaveBeenCalledExactlyOnceWith({ seen: 2 })
    },
  )

  test.each(['message', 'conversation'])('of the format %s learns the gateway’s deadline', async format => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }), { config: { format, deadline: '100s' } })
    const startedAt = Date.now()
    await ask(testMessage('hello'))
    const [body] = received.map(each => JSON.parse(each.body))
    const deadlineAt = Date.parse((format === 'message' ? body : body.payload).deadline)
    expect(deadlineAt).toBeGreaterThanOrEqual(startedAt + 90_000)
    expect(deadlineAt).toBeLessThanOrEqual(Date.now() + 90_000)
  })

  test.each(['message', 'conversation'])(
    'of the format %s learns findings, earlier writers’ proofs and cache breakpoints',
    async format => {
      const { ask, received } = await openWebhookAgent(() => ({ status: 204 }), { config: { format } })
      const sender = { address: '@a@b.test', verified: true, auth_method: 'email-dkim' } as const
      const turn = { role: 'user', sender, parts: [{ kind: 'text', mime: 'text/plain', content: 'x' }] } as const
      const history = [{ ...turn, parts: [...turn.parts], timestamp: '2026-01-01T00:00:00Z' }]
      const historyView = { turns: history, cacheBreakpointAfter: 0 }
      await ask(testMessage('hello', { history }), testContext({ flags: ['hidden_text'], history: () => historyView }))
      await ask(testMessage('hello'), testContext({ history: () => ({ turns: [] }) }))
      const [detailedBody, plainBody] = received.map(({ body }) => JSON.parse(body))
      const earlierWriter = format === 'message' ? detailedBody.history[0].sender : detailedBody.messages[0].metadata
      expect(earlierWriter).toMatchObject({ verified: true, auth_method: 'email-dkim' })
      expect((format === 'message' ? detailedBody : detailedBody.payload).flags).toEqual(['hidden_text'])
      expect(format === 'message' ? detailedBody.cache_breakpoint_after === 0 : earlierWriter.cache_breakpoint).toBe(
        true,
      )
      expect(JSON.stringify(plainBody)).not.toMatch(/"flags"|cache_breakpoint/)
    },
  )

  test('gets the sending time in seconds', async () => {
    const now = () => 1_767_225_600_999
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }), { system: { now } })
    await ask()
    expect(received[0]?.headers['webhook-timestamp']).toBe('1767225600')
  })

  test('gets one id for all tries of a turn, and another for each other turn', async () => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }))
    const message = testMessage('hello')
    await ask(message)
    await ask(message)
    await ask(testMessage('hello', { id: 'https://peer.test/activities/2' }))
    await ask(message, testContext({ correlationId: 'facade' }))
    const ids = received.map(({ headers }) => headers['webhook-id'])
    expect(ids[0]).toMatch(/^msg_[0-9a-f]{32}$/)
    expect(ids[1]).toBe(ids[0])
    expect(new Set(ids).size).toBe(3)
  })

  test('gets another id than another agent for the same message', async () => {
    const server = await openWebhookServer(() => ({ status: 204 }))
    onTestFinished(server.close)
    const config = { use: 'webhook', url: server.url, secret }
    const gateway = await openAgentGateway({ one: config, two: config })
    for (const { name } of gateway.list()) {
      await gateway.findRunning(name)?.agent.handle(testMessage('hello'), testContext())
    }
    const [one, two] = server.received.map(({ headers }) => headers['webhook-id'])
    expect(one).not.toBe(two)
  })

  test('gets a message that is too large without its files', async () => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }))
    await ask(testMessage('hello', { raw: 'x'.repeat(9 * 1024 * 1024) }))
    expect(JSON.parse(received[0]?.body ?? '')).not.toHaveProperty('raw')
    expect(JSON.parse(received[0]?.body ?? '')).toHaveProperty('parts')
  })

  test('gets no message that exceeds the limit in bytes but not in characters', async () => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }))
    await expect(ask(testMessage('ü'.repeat(5 * 1024 * 1024)))).rejects.toThrow('larger than the 8388608 bytes')
    expect(received).toEqual([])
  })

  test('gets no message that is too large without files', async () => {
    const { ask, received } = await openWebhookAgent(() => ({ status: 204 }))
    await expect(ask(testMessage('x'.repeat(9 * 1024 * 1024)))).rejects.toThrow(
      'The message is larger than the 8388608 bytes a webhook is sent',
    )
    expect(received).toEqual([])
  })
})

describe('a webhook agent answers', () => {
  test('with a text', async () => {
    expect(await answerTo({ body: { text: '*hi*' } })).toEqual({
      parts: [{ kind: 'text', mime: 'text/markdown', content: '*hi*' }],
    })
  })

  test('with a text and other members', async () => {
    expect(await answerTo({ body: { text: 'Which?', status: 'input_required', subject: 'Which?' } })).toMatchObject({
      status: 'input_required',
      subject: 'Which?',
      parts: [{ content: 'Which?' }],
    })
  })

  test('with parts', async () => {
    const parts = [{ kind: 'link', url: 'https://peer.test/' }]
    expect(await answerTo({ body: { parts } })).toEqual({ parts })
  })

  test('with a whole response, of which the gateway keeps only members that agents may decide', async () => {
    const body = {
      id: 'mine',
      thread_id: 'another thread',
      in_reply_to: 'another message',
      sender: '@mallory@peer.test',
      created_at: '2020-01-01T00:00:00Z',
      parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }],
      status: 'completed',
      visibility: 'direct',
    }
    const { parts, status, visibility } = body
    expect(await answerTo({ body })).toEqual({ parts, status, visibility })
  })

  test('with a status alone', async () => {
    expect(await answerTo({ body: { status: 'rejected' } })).toEqual({ status: 'rejected' })
  })

  test('with actions beside a text', async () => {
    const acts = [
      { act: 'post', id: '0123456789abcdef0123456789abcdef', parts: [{ kind: 'link', url: 'https://peer.test/' }] },
      { act: 'like' },
    ]
    expect(await answerTo({ body: { text: 'done', acts } })).toMatchObject({ parts: [{ content: 'done' }], acts })
  })

  test('with notes beside a text, or without a text', async () => {
    const notes = [
      { type: 'action', tool: 'count', args: { what: 'words' }, step: 1 },
      { type: 'observation', content: [1, { two: 2 }] },
    ]
    expect(await answerTo({ body: { text: 'done', notes } })).toMatchObject({ parts: [{ content: 'done' }], notes })
    expect(await answerTo({ body: { notes } })).toEqual({ notes })
  })

  test('with its usage beside a text, or without a text', async () => {
    const usage = [
      { provider: 'local', model: 'small', input_tokens: 10, output_tokens: 4, total_tokens: 14, reasoning_tokens: 2 },
      { model: 'large', input_tokens: 3, cached_input_tokens: 2, cache_write_input_tokens: 1 },
    ]
    expect(await answerTo({ body: { text: 'done', usage } })).toMatchObject({ parts: [{ content: 'done' }], usage })
    expect(await answerTo({ body: { usage } })).toEqual({ usage })
  })

  test('with only actions', async () => {
    const acts = [{ act: 'boost', message: 'm1' }]
    expect(await answerTo({ body: { acts } })).toEqual({ acts })
  })

  test('with silence', async () => {
    expect(await answerTo({ status: 204 })).toBeUndefined()
  })
})

describe('a webhook agent fails', () => {
  test.each([400, 401, 404, 409, 410, 418, 422])('when it answers %i', async status => {
    const failed = answerTo({ status, body: { error: 'hunter2' } })
    await expect(failed).rejects.toThrow(
      new RegExp(`^The webhook answered ${status} at http://127\\.0\\.0\\.1:\\d+/\\S*; expected 200 or 204$`),
    )
    await expect(failed).rejects.not.toBeInstanceOf(Unavailable)
  })

  test.each([201, 202, 206])('when it answers %i', async status => {
    await expect(answerTo({ status, body: { text: 'hi' } })).rejects.toThrow(`The webhook answered ${status}`)
  })

  test('when it answers with a redirect', async () => {
    const redirectTarget = await openWebhookServer(() => ({ body: { text: 'hi' } }))
    onTestFinished(redirectTarget.close)
    const reply = { status: 307, headers: { location: redirectTarget.url } }
    await expect(answerTo(reply)).rejects.toThrow(
      `, a redirect to ${redirectTarget.url} that is not followed; expected 200 or 204`,
    )
    expect(redirectTarget.received).toEqual([])
  })

  test.each<[what: string, body: unknown, message: string]>([
    ['nothing', '', 'Cannot read webhook reply: not valid JSON'],
    ['no JSON', 'hunter2', 'Cannot read webhook reply: not valid JSON'],
    ['JSON too deep', '['.repeat(100), 'Cannot read webhook reply: nested deeper than 64 levels'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'Cannot read webhook reply: not valid UTF-8'],
  ])('when its answer contains %s', async (_what, body, message) => {
    await expect(answerTo({ body })).rejects.toThrow(expect.objectContaining({ name: 'InvalidAnswer', message }))
  })

  test.each<[what: string, body: unknown, message: string]>([
    ['a note that is none', { text: 'x', notes: [{ content: 'x' }] }, '"notes.0.type" is missing'],
    ['a cost that is no list', { text: 'x', usage: { input_tokens: 1 } }, '"usage" (an object) must be a list'],
    ['a cost of nothing', { text: 'x', usage: [{ model: 'm' }] }, '"usage.0" needs "input_tokens" or "output_tokens"'],
    [
      'a cost in other words',
      { text: 'x', usage: [{ prompt_tokens: 1 }] },
      '"usage.0": there is no member "prompt_tokens"; leave it out',
    ],
    [
      'a cost that does not add up',
      { text: 'x', usage: [{ input_tokens: 1, output_tokens: 2, total_tokens: 4 }] },
      '"usage.0.total_tokens" (4) is not "input_tokens" plus "output_tokens"',
    ],
    [
      'a cost whose part is more than the whole',
      { text: 'x', usage: [{ input_tokens: 1, output_tokens: 2, reasoning_tokens: 3 }] },
      '"usage.0.reasoning_tokens" (3) is more than "output_tokens", which it is a part of',
    ],
    [
      'too many costs',
      { text: 'x', usage: Array(101).fill({ input_tokens: 1 }) },
      '"usage" (a list) must have at most 100 entries',
    ],
    ['too many notes', { notes: Array(501).fill({ type: 'task' }) }, '"notes" (a list) must have at most 500 entries'],
    ['neither text nor parts', {}, 'it has neither "text" nor "parts"; answer 204 to say nothing'],
    ['no acts', { acts: [] }, 'it has neither "text" nor "parts"; answer 204 to say nothing'],
    ['an act that there is not', { acts: [{ act: 'hug' }] }, '"acts.0.act" ("hug") must be one of post, reply'],
    [
      'a post under an id of its own making',
      { acts: [{ act: 'post', id: 'x', parts: [] }] },
      '"acts.0.id" ("x") must match /^[0-9a-f]{32}$/',
    ],
    ['too many acts', { acts: Array(51).fill({ act: 'like' }) }, '"acts" (a list) must have at most 50 entries'],
    ['both text and parts', { text: 'hi', parts: [] }, 'it has both "text" and "parts"'],
    ['a text that is none', { text: 7 }, '"text" (7) must be a text'],
    ['an unknown status', { text: 'hi', status: 'done' }, '"status" ("done") must be one of completed, input_required'],
    [
      'a malformed part',
      { parts: [{ kind: 'text', mime: 'hunter2', content: 'hunter2' }] },
      '"parts.0.mime" ("hunter2") must be one of text/plain, text/markdown, text/html',
    ],
    [
      'a file whose bytes are no base64',
      { parts: [{ kind: 'file', bytes_ref: { kind: 'inline', data_base64: `${'no base64 '.repeat(9)}` } }] },
      '"parts.0.bytes_ref.data_base64" ("no base64 no base64 no base64 no base64 …" (90 characters)) must be base64',
    ],
    [
      'a file without the place of its bytes',
      { parts: [{ kind: 'file', bytes_ref: { kind: 'url' } }] },
      '"parts.0.bytes_ref.url" is missing',
    ],
    ['a list', [], 'it (a list) must be an object'],
  ])('when its answer has %s', async (_what, body, problem) => {
    const failed = answerTo({ body: JSON.stringify(body) })
    await expect(failed).rejects.toThrow(`Cannot read webhook reply: ${problem}`)
  })

  test('when its answer is too large', async () => {
    const body = { text: 'x'.repeat(5 * 1024 * 1024) }
    const failed = answerTo({ body })
    await expect(failed).rejects.toBeInstanceOf(Undeliverable)
    await expect(failed).rejects.toThrow(/too large: (5242891 bytes, )?more than 4194304/)
  })
})

describe('the gateway retries a webhook agent', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])('when it answers %i', async status => {
    const failed = answerTo({ status, body: 'hunter2' })
    await expect(failed).rejects.toThrow(`The webhook answered ${status} at http://127.0.0.1:`)
    await expect(failed).rejects.toMatchObject({ name: 'Unavailable', retryAfter: undefined })
  })

  test('no sooner than it asks', async () => {
    await expect(answerTo({ status: 503, headers: { 'retry-after': '120' } })).rejects.toMatchObject({
      retryAfter: 120,
    })
    const now = () => Date.UTC(2026, 0, 1)
    const headers = { 'retry-after': 'Thu, 01 Jan 2026 00:02:00 GMT' }
    await expect(answerTo({ status: 429, headers }, { system: { now } })).rejects.toMatchObject({ retryAfter: 120 })
  })

  test('when it closes the connection', async () => {
    await expect(answerTo(undefined)).rejects.toBeInstanceOf(Unavailable)
  })

  test('when it does not listen', async () => {
    const server = await openWebhookServer(() => ({}))
    await server.close()
    const { agent } = await openTestAgent({ use: 'webhook', url: server.url, secret })
    await expect(agent.handle(testMessage('hello'), testContext())).rejects.toBeInstanceOf(Unavailable)
  })

  test('when it takes longer than nine tenths of the deadline', async () => {
    const { ask } = await openWebhookAgent(() => new Promise(() => {}), { config: { deadline: '100ms' } })
    await expect(ask()).rejects.toBeInstanceOf(Unavailable)
  })
})

test('a canceled turn ends the call of a webhook agent', async () => {
  const controller = new AbortController()
  const { ask } = await openWebhookAgent(() => {
    controller.abort(new Error('canceled'))
    return new Promise(() => {})
  })
  await expect(ask(testMessage('hello'), testContext({ signal: controller.signal }))).rejects.toThrow()
})
