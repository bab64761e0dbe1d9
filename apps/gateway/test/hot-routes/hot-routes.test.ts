import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { Access, SocketStep } from './both-ways.ts'
import { openBothWays } from './both-ways.ts'

// These tests hold that node:http and Hono answer a hot route with the same bytes and records.

type BothWays = Awaited<ReturnType<typeof openBothWays>>

const agents = { echo: { use: 'builtin:echo' }, gone: { use: 'builtin:help' }, resting: { use: 'builtin:help' } }
const secret = 'intake-secret-of-the-tests'

interface RequestParts {
  readonly target?: string
  readonly method?: string
  readonly version?: string
  /** The complete header fields, instead of the usual ones. */
  readonly fields?: readonly string[]
  /** More header fields. */
  readonly more?: readonly string[]
  readonly body?: string
}

const rpc = (method = 'ListTasks', params: object = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** Composes a call of the JSON-RPC binding by default. */
function compose(parts: RequestParts = {}): string {
  const { target = '/agents/echo/a2a', method = 'POST', version = '1.1', more = [], body = rpc() } = parts
  const fields = parts.fields ?? ['host: agents.test', 'content-type: application/json', 'a2a-version: 1.0']
  const length = [...fields, ...more].some(field => /^(content-length|transfer-encoding):/i.test(field))
    ? []
    : [`content-length: ${Buffer.byteLength(body)}`]
  return `${[`${method} ${target} HTTP/${version}`, ...fields, ...more, ...length].join('\r\n')}\r\n\r\n${body}`
}

const post = { target: '/agents/echo/inbox', fields: ['host: agents.test', 'content-type: application/activity+json'] }
const activity = JSON.stringify({
  id: 'https://peer.test/1',
  type: 'Create',
  actor: 'https://peer.test/users/a',
  object: { id: 'https://peer.test/2', type: 'Note', content: 'x' },
})
const chunks = (...texts: readonly string[]) =>
  [...texts, ''].map(text => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`).join('')
const chunked = 'transfer-encoding: chunked'
const tooLong = 'x'.repeat(1_100_000)
const signed = (more: readonly string[] = []) => [
  `signature: keyId="https://peer.test/users/a#main-key",headers="(request-target) host date digest",signature="AAAA"`,
  `date: ${new Date().toUTCString()}`,
  'digest: SHA-256=AAAA',
  ...more,
]

interface Case {
  readonly name: string
  compose(access: Access): readonly SocketStep[]
  /** The statuses of the answers. */
  readonly statuses: readonly number[]
  /** The number of requests that need no Hono. Default: one. */
  readonly hotCount?: number
  readonly isClosed?: boolean
  readonly refusalCount?: number
}

const call =
  (parts: RequestParts = {}) =>
  (access: Access) => [compose(withBearer(parts, access))]
const withBearer = (parts: RequestParts, { bearer }: Access) => ({
  ...parts,
  more: [`authorization: ${bearer}`, ...(parts.more ?? [])],
})
const inbox =
  (parts: RequestParts = {}) =>
  () => [compose({ ...post, body: activity, ...parts })]
const send = rpc('SendMessage', {
  message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
})

const cases: readonly Case[] = [
  { name: 'an accepted call', compose: call({ body: rpc() }), statuses: [200] },
  { name: 'an answered message', compose: call({ body: send }), statuses: [200] },
  {
    name: 'a REST message',
    compose: call({
      target: '/agents/echo/a2a/rest/message:send',
      body: JSON.stringify({ message: { messageId: 'm-2', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
    }),
    statuses: [200],
  },
  {
    name: 'a REST call for a host that no URL can have',
    compose: call({
      target: '/a2a/rest/message:shout',
      fields: ['host: 999.999.999.999', 'content-type: application/json', 'a2a-version: 1.0'],
    }),
    statuses: [404],
    refusalCount: 1,
  },
  {
    name: 'a REST call to no path',
    compose: call({ target: '/a2a/rest/message:shout' }),
    statuses: [404],
    refusalCount: 1,
  },
  {
    name: 'a streamed answer',
    compose: call({
      body: rpc('SendStreamingMessage', {
        message: { messageId: 'm-3', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
      }),
    }),
    statuses: [200],
  },
  { name: 'a call without credentials', compose: () => [compose()], statuses: [401], refusalCount: 1 },
  {
    name: 'two credentials',
    compose: access => [compose({ more: [`authorization: ${access.bearer}`, `authorization: ${access.bearer}`] })],
    statuses: [401],
    refusalCount: 1,
  },
  {
    name: 'two equal content types',
    compose: call({ more: ['content-type: text/plain'] }),
    statuses: [415],
    refusalCount: 1,
  },
  { name: 'an unsigned post', compose: inbox(), statuses: [401], refusalCount: 1 },
  { name: 'a forged post', compose: inbox({ more: signed() }), statuses: [401], refusalCount: 1 },
  { name: 'a post to the shared inbox', compose: inbox({ target: '/inbox' }), statuses: [401], refusalCount: 1 },
  {
    name: 'a body that is declared too large',
    compose: inbox({ body: '', more: ['content-length: 2000000'] }),
    statuses: [413],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a chunked body that is too large',
    compose: inbox({ more: [chunked], body: chunks(tooLong, tooLong) }),
    statuses: [413],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a large call',
    compose: call({ more: [chunked], body: chunks(...Array(30).fill(tooLong)) }),
    statuses: [413],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a chunked body',
    compose: call({ more: [chunked], body: chunks(rpc().slice(0, 9), rpc().slice(9)) }),
    statuses: [200],
  },
  { name: 'a body without bytes', compose: inbox({ body: '' }), statuses: [401], refusalCount: 1 },
  {
    name: 'a body without a length',
    compose: () => [compose({ ...post, more: ['connection: keep-alive'], body: '' })],
    statuses: [401],
    refusalCount: 1,
  },
  { name: 'malformed JSON', compose: call({ body: '{"jsonrpc":' }), statuses: [200], refusalCount: 1 },
  {
    name: 'a wrong content type',
    compose: inbox({ fields: ['host: agents.test', 'content-type: text/html'] }),
    statuses: [415],
    refusalCount: 1,
  },
  { name: 'a content coding', compose: inbox({ more: ['content-encoding: gzip'] }), statuses: [415], refusalCount: 1 },
  { name: 'a wrong method', compose: call({ method: 'PUT' }), statuses: [405], hotCount: 0 },
  { name: 'a wrong method at an inbox', compose: inbox({ method: 'DELETE' }), statuses: [405], hotCount: 0 },
  { name: 'a method in lower case', compose: call({ method: 'post' }), statuses: [400], hotCount: 0, isClosed: true },
  { name: 'an unknown agent', compose: call({ target: '/agents/nobody/a2a' }), statuses: [404], refusalCount: 1 },
  {
    name: 'a post to an unknown agent',
    compose: inbox({ target: '/agents/nobody/inbox' }),
    statuses: [404],
    refusalCount: 1,
  },
  {
    name: 'a post to a former agent',
    compose: inbox({ target: '/agents/gone/inbox' }),
    statuses: [410],
    refusalCount: 1,
  },
  { name: 'a paused agent', compose: call({ target: '/agents/resting/a2a', body: send }), statuses: [200] },
  {
    name: 'a post to a paused agent',
    compose: inbox({ target: '/agents/resting/inbox' }),
    statuses: [401],
    refusalCount: 1,
  },
  {
    name: 'a preflight',
    compose: call({
      method: 'OPTIONS',
      body: '',
      more: ['origin: https://page.test', 'access-control-request-method: POST'],
    }),
    statuses: [405],
    hotCount: 0,
  },
  { name: 'a page of another origin', compose: call({ more: ['origin: https://page.test'] }), statuses: [200] },
  {
    name: 'a rehearsal',
    compose: ({ pass }) => [compose({ ...post, body: activity, more: [`postern-rehearsal: ${pass}`] })],
    statuses: [401],
    refusalCount: 0,
  },
  {
    name: 'a pass that is used twice',
    compose: ({ pass }) => Array(2).fill(compose({ ...post, body: activity, more: [`postern-rehearsal: ${pass}`] })),
    statuses: [401, 401],
    hotCount: 2,
    refusalCount: 1,
  },
  ...[
    ['//inbox', 404],
    ['/inbox/', 404],
    ['/./inbox', 401],
    ['/x/../inbox', 401],
    ['/x/%2e%2e/inbox', 401],
    ['/%69nbox', 401],
    ['/agents/%65cho/inbox', 401],
    ['/agents/..%2finbox', 404],
    ['/agents/ECHO/inbox', 404],
    ['/inbox?x=1', 401],
    ['/inbox#x', 401],
    ['/inbox;x', 404],
    ['/in\\box', 400],
    ['http://other.test/inbox', 401],
    ['https://agents.test/inbox', 401],
    ['ftp://agents.test/inbox', 400],
    ['inbox', 400],
    ['*', 400],
    ['/inböx', 400],
  ].map(([target, status]) => ({
    name: `the target ${target}`,
    compose: inbox({ target: target as string }),
    statuses: [status as number],
    hotCount: target === '/agents/ECHO/inbox' ? 1 : 0,
  })),
  ...(
    [
      ['no host', [], [400], 0],
      ['an empty host', ['host:'], [400], 0],
      ['two hosts', ['host: agents.test', 'host: other.test'], [400], 0],
      ['two equal hosts', ['host: agents.test', 'host: agents.test'], [400], 0],
      ['another host', ['host: other.test'], [401], 1],
      ['a host in upper case', ['host: AGENTS.TEST'], [401], 0],
      ['a host with a user', ['host: a@agents.test'], [400], 0],
      ['a host with a short port', ['host: agents.test:80'], [401], 0],
      ['a host with a port', ['host: agents.test:8080'], [401], 1],
      ['an address of IPv6 as host', ['host: [::1]:8080'], [401], 0],
    ] as const
  ).map(([name, hosts, statuses, hotCount]) => ({
    name,
    compose: inbox({ fields: [...hosts, 'content-type: application/activity+json'] }),
    statuses,
    hotCount,
  })),
  {
    name: 'an expected continuation',
    compose: access => [
      compose({
        ...withBearer({}, access),
        body: '',
        more: [`authorization: ${access.bearer}`, 'expect: 100-continue', `content-length: ${rpc().length}`],
      }),
      100,
      rpc(),
    ],
    statuses: [100, 200],
  },
  { name: 'another expectation', compose: call({ more: ['expect: tea'] }), statuses: [417], hotCount: 0 },
  { name: 'HTTP/1.0', compose: call({ version: '1.0' }), statuses: [200], isClosed: true },
  {
    name: 'HTTP/1.0 without a host',
    compose: inbox({ version: '1.0', fields: ['content-type: application/activity+json'] }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'HTTP/1.0 that keeps alive',
    compose: call({ version: '1.0', more: ['connection: keep-alive'] }),
    statuses: [200],
  },
  {
    name: 'a connection that shall close',
    compose: call({ more: ['connection: close'] }),
    statuses: [200],
    isClosed: true,
  },
  {
    name: 'pipelined requests',
    compose: access => [
      [
        compose(withBearer({ body: send }, access)),
        compose({ ...post, body: activity }),
        compose(withBearer({}, access)),
        compose({ method: 'GET', target: '/healthz', body: '' }),
      ].join(''),
    ],
    statuses: [200, 401, 200, 200],
    hotCount: 3,
    refusalCount: 1,
  },
  {
    name: 'a request after a refusal whose body was not read',
    compose: access => [
      compose({ ...post, target: '/agents/nobody/inbox', body: 'x'.repeat(300_000) }),
      100,
      compose(withBearer({}, access)),
    ],
    statuses: [404, 200],
    hotCount: 2,
    refusalCount: 1,
  },
  {
    name: 'a request after a refusal whose body arrives later',
    compose: access => [
      compose({ ...post, target: '/agents/nobody/inbox', more: ['content-length: 2000'], body: 'x'.repeat(1_000) }),
      100,
      'x'.repeat(1_000),
      compose(withBearer({}, access)),
    ],
    statuses: [404, 200],
    hotCount: 2,
    refusalCount: 1,
  },
  {
    name: 'a refusal whose body never arrives',
    compose: () => [
      compose({ ...post, target: '/agents/nobody/inbox', more: ['content-length: 2000'], body: 'x' }),
      900,
    ],
    statuses: [404],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a body that stops',
    compose: () => [compose({ ...post, more: ['content-length: 2000'], body: 'x' }), 900],
    statuses: [408],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a body that drips',
    compose: () => [
      compose({ ...post, more: ['content-length: 2000'], body: 'x' }),
      ...Array(10).fill(['x', 70]).flat(),
    ],
    statuses: [408],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a body that is cut',
    compose: () => [compose({ ...post, more: ['content-length: 2000'], body: 'x' }), 50, 'cut', 200],
    statuses: [],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a chunked body that is cut',
    compose: () => [compose({ ...post, more: [chunked], body: '5\r\nhello\r\n' }), 50, 'cut', 200],
    statuses: [],
    refusalCount: 1,
    isClosed: true,
  },
  {
    name: 'a client that leaves after its body',
    compose: access => [...call({ body: '{"jsonrpc":' })(access), 'cut', 200],
    statuses: [],
    refusalCount: 1,
  },
  {
    name: 'a length beside chunks',
    compose: inbox({ more: ['content-length: 5', chunked], body: chunks('hello') }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'chunks beside a length',
    compose: inbox({ more: [chunked, 'content-length: 5'], body: chunks('hello') }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'two lengths',
    compose: inbox({ more: ['content-length: 5', 'content-length: 6'], body: 'hello!' }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'a length that is no number',
    compose: inbox({ more: ['content-length: 5, 5'], body: 'hello' }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'an unknown transfer coding',
    compose: inbox({ more: ['transfer-encoding: gzip'], body: 'hello' }),
    statuses: [400],
    isClosed: true,
  },
  {
    name: 'a coding after chunks',
    compose: inbox({ more: ['transfer-encoding: chunked, identity'], body: chunks('hello') }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'a chunk that lies',
    compose: inbox({ more: [chunked], body: 'zz\r\nhello\r\n' }),
    statuses: [400],
    isClosed: true,
  },
  {
    name: 'a trailer',
    compose: call({ more: [chunked], body: chunks(rpc()).replace(/\r\n$/, 'x-late: yes\r\n\r\n') }),
    statuses: [200],
  },
  {
    name: 'too many header fields',
    compose: inbox({ more: Array.from({ length: 101 }, (_, index) => `x-${index}: y`) }),
    statuses: [431],
    hotCount: 0,
  },
  {
    name: 'an enormous header field',
    compose: inbox({ more: [`x-large: ${'y'.repeat(40_000)}`] }),
    statuses: [431],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'a header field with a line break',
    compose: inbox({ more: ['x-a: b\rc: d'] }),
    statuses: [400],
    hotCount: 0,
    isClosed: true,
  },
  {
    name: 'a client behind a trusted proxy',
    compose: inbox({ more: ['x-forwarded-for: 192.0.2.9, 198.51.100.7'] }),
    statuses: [401],
    refusalCount: 1,
  },
  {
    name: 'two lists of proxies',
    compose: inbox({ more: ['x-forwarded-for: 192.0.2.9', 'x-forwarded-for: 198.51.100.7'] }),
    statuses: [401],
    refusalCount: 1,
  },
  { name: 'an upgrade', compose: call({ more: ['connection: upgrade', 'upgrade: websocket'] }), statuses: [200] },
  {
    name: 'a webhook of mail',
    compose: () => [
      compose({
        target: '/email/inbound',
        fields: ['host: agents.test', 'content-type: message/rfc822', `authorization: Bearer ${secret}x`],
        body: 'x',
      }),
    ],
    statuses: [401],
    hotCount: 0,
    refusalCount: 1,
  },
]

describe('node:http and Hono give the same answers and records', () => {
  let ways: BothWays
  beforeAll(async () => {
    ways = await openBothWays({ agents, default_agent: 'echo' }, async gateway => {
      const actor = { headers: { accept: 'application/activity+json' } }
      await fetch(`${gateway.url()}/agents/gone`, actor)
      const { gone: _, ...remainingAgents } = agents
      await gateway.restart({ agents: remainingAgents })
      const headers = { authorization: `Bearer ${operatorToken}` }
      await fetch(`${gateway.url()}/operator/api/agents/resting/pause`, { method: 'POST', headers })
    })
  }, 60_000)
  afterAll(() => ways.close())

  test.each(cases)('for $name', async ({ compose, statuses, hotCount = 1, isClosed, refusalCount }) => {
    const conversations = await ways.converse(compose)
    const { direct, byHono } = conversations
    expect(direct).toEqual(byHono)
    expect(direct.answers.map(answer => Number(answer.slice(9, 12)))).toEqual(statuses)
    expect(conversations.hotCount).toBe(hotCount)
    if (isClosed !== undefined) expect(direct.isClosed).toBe(isClosed)
    if (refusalCount !== undefined) expect(direct.refusals).toHaveLength(refusalCount)
  })
})

describe('node:http and Hono give the same answers and records with other settings', () => {
  async function converseWith(settings: object, composeSteps: Case['compose']) {
    const ways = await openBothWays({ agents, default_agent: 'echo', ...settings })
    try {
      return await ways.converse(composeSteps)
    } finally {
      await ways.close()
    }
  }

  test('for an address over its limit, which both refuse alike', async () => {
    const { direct, byHono, hotCount } = await converseWith({ limits: { per_address: 2 } }, access => [
      Array(3)
        .fill(compose(withBearer({}, access)))
        .join(''),
    ])
    expect(direct).toEqual(byHono)
    expect([hotCount, ...direct.answers.map(answer => answer.slice(9, 12))]).toEqual([3, '200', '200', '429'])
    expect(direct.refusals).toMatchObject([
      { code: 'rate_limited', endpoint: 'POST /agents/:agent/a2a', agent: 'echo' },
    ])
  })

  test('for pages of other origins, whose calls all pass through Hono', async () => {
    const fields = ['origin: https://page.test', 'access-control-request-method: POST']
    const { direct, byHono, hotCount } = await converseWith({ a2a: { cors: '*' } }, access => [
      compose({ method: 'OPTIONS', body: '', more: fields }),
      compose(withBearer({ more: fields }, access)),
    ])
    expect(direct).toEqual(byHono)
    expect([hotCount, ...direct.answers.map(answer => answer.slice(9, 12))]).toEqual([0, '204', '200'])
    expect(direct.answers.every(answer => answer.includes('access-control-allow-origin: *'))).toBe(true)
  })
})
