import { hash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiKeyCheck } from '../../src/auth/api-keys.ts'
import { createTokenSigner } from '../../src/client/peer-credentials.ts'
import { a2aConfigSchema } from '../../src/index.ts'
import { createOwnKeyRing } from '../../src/keys/own-keys.ts'
import type { A2aPostOptions, A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

const key = 'a-key-of-many-random-bytes'
const keys = [
  { name: 'ci', sha256: hash('sha256', key) },
  { name: 'reader', sha256: hash('sha256', 'the-other-key'), scopes: ['a2a:task.read'] },
]

let gateway: A2aTestGateway

beforeEach(async () => {
  gateway = await openA2aGateway({ runsWorker: false, config: { auth: { api_keys: keys } } })
})
afterEach(() => gateway.close())

async function verdict(options: A2aPostOptions, method = 'ListTasks', server = gateway) {
  const { status, headers, body } = await server.rpc(method, {}, options)
  return { status, challenge: headers.get('www-authenticate'), message: body.error?.message }
}

const withKey = (value: string) => ({ token: null, headers: { 'x-api-key': value } })
const refusedKey = {
  status: 401,
  challenge: 'ApiKey realm="agents.test", header="X-API-Key", error="invalid_token"',
  message: 'Cannot take request: API key is not one of ours',
}

describe('API keys (A2A-A17)', () => {
  test('authenticate by their digest only', async () => {
    expect((await verdict(withKey(key))).status).toBe(200)
    const [turn] = await (async () => {
      await gateway.sendText('hi', {}, { ...withKey(key), configuration: { returnImmediately: true } })
      return gateway.store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
    })()
    expect(turn?.content.sender).toMatchObject({
      address: expect.stringMatching(/^@ci~[0-9a-f]{12}@agents\.test$/),
      auth_method: 'a2a-oauth',
      verified: true,
      identities: [{ subject: 'ci', issuer: 'https://agents.test' }],
    })
    expect(JSON.stringify([turn?.content, gateway.system.logged])).not.toContain(key)
  })

  test.each([
    ['one wrong byte', key.replace('y-', 'z-')],
    ['a blank inside', key.replace('-', ' ')],
    ['the digest itself', hash('sha256', key)],
    ['another length', `${key}x`],
    ['far too long', 'k'.repeat(2_000)],
  ])('get 401 for %s', async (_, value) => {
    expect(await verdict(withKey(value))).toEqual(refusedKey)
  })

  test('differ by a trailing blank, which a header does not keep (RFC 9110 §5.5)', () => {
    const check = createApiKeyCheck(a2aConfigSchema.parse({ auth: { api_keys: keys } }).auth.api_keys)
    expect(check(key).name).toBe('ci')
    expect(() => check(`${key} `)).toThrow('Cannot take request: API key is not one of ours')
  })

  test('fail beside a token, since one request has one caller', async () => {
    const { status, message } = await verdict({ headers: { 'x-api-key': key } })
    expect([status, message]).toEqual([401, 'Cannot take request: expected one credential'])
  })

  test('appear in the challenge', async () => {
    expect((await verdict({ token: null })).challenge).toBe(
      'Bearer realm="agents.test", ApiKey realm="agents.test", header="X-API-Key"',
    )
  })

  test('separate the data of their owners', async () => {
    const { body } = await gateway.sendText('hi', {}, { ...withKey(key), configuration: { returnImmediately: true } })
    const { id } = body.result.task
    expect((await gateway.rpc('GetTask', { id }, withKey(key))).body.result.id).toBe(id)
    expect((await gateway.rpc('GetTask', { id }, withKey('the-other-key'))).body.error?.code).toBe(-32001)
  })

  test('have no effect if none are configured', async () => {
    const plainGateway = await openA2aGateway({ runsWorker: false })
    expect((await verdict({ headers: { 'x-api-key': key } }, 'ListTasks', plainGateway)).status).toBe(200)
    await plainGateway.close()
  })

  test.each([
    ['a key in clear', { name: 'ci', sha256: key }],
    ['a name that is none', { name: '@ci', sha256: keys[0]?.sha256 }],
  ])('cannot be configured as %s', (_, entry) => {
    expect(a2aConfigSchema.safeParse({ auth: { api_keys: [entry] } }).success).toBe(false)
  })
})

describe('scopes (A2A-A13)', () => {
  const refused = (scope: string, scheme = 'Bearer realm="agents.test"') => ({
    status: 403,
    challenge: `${scheme}, error="insufficient_scope", scope="${scope}"`,
    message: `Cannot take request: scope "${scope}" is missing`,
  })

  test.each([
    ['SendMessage', 'a2a:message.send'],
    ['SendStreamingMessage', 'a2a:message.stream'],
    ['CancelTask', 'a2a:task.cancel'],
    ['SubscribeToTask', 'a2a:task.resubscribe'],
    ['CreateTaskPushNotificationConfig', 'a2a:task.push-config'],
    ['GetExtendedAgentCard', 'a2a:card.extended'],
  ])('must include %s for %s when a token has scopes', async (method, scope) => {
    const token = await gateway.issuer.sign({ scope: 'openid a2a:task.read' }, { typ: 'at+jwt' })
    expect(await verdict({ token }, method)).toEqual(refused(scope))
    expect((await verdict({ token })).status).toBe(200)
  })

  test('of an API key come from its configuration', async () => {
    const challenge = 'ApiKey realm="agents.test", header="X-API-Key"'
    expect(await verdict(withKey('the-other-key'), 'CancelTask')).toEqual(refused('a2a:task.cancel', challenge))
    expect((await verdict(withKey('the-other-key'))).status).toBe(200)
  })

  test('of other issuers limit nothing, unless the issuer must give ours', async () => {
    const scope = 'openid profile'
    expect((await verdict({ token: await gateway.issuer.sign({ scope }) })).status).toBe(200)
    const strictGateway = await openA2aGateway({ runsWorker: false, issuer: { require_scopes: true } })
    expect(await verdict({ token: await strictGateway.issuer.sign({ scope }) }, 'ListTasks', strictGateway)).toEqual(
      refused('a2a:task.read'),
    )
    expect(await verdict({}, 'ListTasks', strictGateway)).toEqual(refused('a2a:task.read'))
    const token = await strictGateway.issuer.sign({ scp: ['a2a:task.read'] })
    expect((await verdict({ token }, 'ListTasks', strictGateway)).status).toBe(200)
    await strictGateway.close()
  })

  test('use the configured names', async () => {
    const scopes = { ListTasks: 'read:tasks' }
    const scopedGateway = await openA2aGateway({
      runsWorker: false,
      issuer: { require_scopes: true },
      config: { auth: { scopes } },
    })
    expect(await verdict({}, 'ListTasks', scopedGateway)).toEqual(refused('read:tasks'))
    const token = await scopedGateway.issuer.sign({ scope: 'read:tasks' })
    expect((await verdict({ token }, 'ListTasks', scopedGateway)).status).toBe(200)
    expect(await verdict({ token }, 'CancelTask', scopedGateway)).toEqual(refused('a2a:task.cancel'))
    await scopedGateway.close()
  })
})

test('an unknown tenant always gets the same answer, whatever the token claims (A2A-A14)', async () => {
  const answers = await Promise.all(
    ['a', 'b'].map(async tenant => {
      const token = await gateway.issuer.sign({ tenant })
      return (await gateway.rpc('GetTask', { id: 'x', tenant: 'b' }, { token })).text
    }),
  )
  expect(answers[0]).toContain('is not a tenant of this agent')
  expect(answers[1]).toBe(answers[0])
})

describe('a single-use token (A2A-A18)', () => {
  test('counts once', async () => {
    const singleUseGateway = await openA2aGateway({ runsWorker: false, issuer: { single_use: true } })
    const token = await singleUseGateway.issuer.sign({ jti: 'a' })
    expect((await verdict({ token }, 'ListTasks', singleUseGateway)).status).toBe(200)
    expect(await verdict({ token }, 'ListTasks', singleUseGateway)).toEqual({
      status: 401,
      challenge: 'Bearer realm="agents.test", error="invalid_token"',
      message: 'Cannot verify token: it was used before',
    })
    const nameless = await verdict({ token: await singleUseGateway.issuer.sign() }, 'ListTasks', singleUseGateway)
    expect(nameless.message).toBe('Cannot verify token: it is for one use and has no jti')
    const longToken = await singleUseGateway.issuer.sign({
      jti: 'b',
      exp: Math.floor(singleUseGateway.system.now() / 1000) + 7_200,
    })
    expect((await verdict({ token: longToken }, 'ListTasks', singleUseGateway)).message).toBe(
      'Cannot verify token: it is for one use and lives too long',
    )
    await singleUseGateway.close()
  })
})

describe('a task of another caller (A2A-T02)', () => {
  const methods = ['GetTask', 'CancelTask', 'SubscribeToTask']

  test.each(methods)(
    'gets from %s exactly the answer for an unknown task, with an id of the same length',
    async method => {
      const { body } = await gateway.sendText('hi', {}, { configuration: { returnImmediately: true } })
      const otherCaller = { token: await gateway.issuer.sign({ sub: 'mallory' }) }
      const foreign = await gateway.rpc(method, { id: body.result.task.id }, otherCaller)
      const missingAnswer = await gateway.rpc(method, { id: '00000000-0000-4000-8000-000000000000' }, otherCaller)
      expect(foreign.text).toBe(missingAnswer.text)
      expect([...foreign.headers]).toEqual([...missingAnswer.headers])
    },
  )

  test('gets the same answer for a message to it', async () => {
    const { body } = await gateway.sendText('hi', {}, { configuration: { returnImmediately: true } })
    const otherCaller = { token: await gateway.issuer.sign({ sub: 'mallory' }) }
    const foreign = await gateway.sendText('more', { taskId: body.result.task.id }, otherCaller)
    const missingAnswer = await gateway.sendText(
      'more',
      { taskId: '00000000-0000-4000-8000-000000000000' },
      otherCaller,
    )
    expect(foreign.body.error?.code).toBe(-32001)
    expect(foreign.text).toBe(missingAnswer.text)
  })
})

test.each([
  ['GET', ''],
  ['POST', ':cancel'],
  ['GET', ':subscribe'],
  ['GET', '/pushNotificationConfigs'],
  ['GET', '/pushNotificationConfigs/x'],
])(
  '%s /tasks/{id}%s answers for another caller’s task exactly as for an unknown one (A2A-T02)',
  async (method, suffix) => {
    const { body } = await gateway.sendText('hi', {}, { configuration: { returnImmediately: true } })
    const authorization = `Bearer ${await gateway.issuer.sign({ sub: 'mallory' })}`
    const getTask = (id: string) =>
      gateway.request(`/a2a/rest/tasks/${id}${suffix}`, {
        method,
        headers: { authorization, 'content-type': 'application/json', 'a2a-version': '1.0' },
      })
    const [foreign, missingAnswer] = [
      await getTask(body.result.task.id),
      await getTask('00000000-0000-4000-8000-000000000000'),
    ]
    expect(foreign.status).toBeGreaterThanOrEqual(400)
    expect([foreign.status, foreign.text, ...foreign.headers]).toEqual([
      missingAnswer.status,
      missingAnswer.text,
      ...missingAnswer.headers,
    ])
  },
)

describe('the HTTP+JSON binding (A2A-A01)', () => {
  const routes: readonly (readonly [method: string, path: string])[] = [
    ['POST', '/message:send'],
    ['POST', '/message:stream'],
    ['GET', '/tasks'],
    ['GET', '/tasks/x'],
    ['POST', '/tasks/x:cancel'],
    ['GET', '/tasks/x:subscribe'],
    ['POST', '/tasks/x:subscribe'],
    ['POST', '/tasks/x/pushNotificationConfigs'],
    ['GET', '/tasks/x/pushNotificationConfigs'],
    ['GET', '/tasks/x/pushNotificationConfigs/y'],
    ['DELETE', '/tasks/x/pushNotificationConfigs/y'],
    ['GET', '/extendedAgentCard'],
  ]
  const request = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
    gateway.request(`/a2a/rest${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      ...(method === 'POST' && { body: '{}' }),
    })

  test.each(routes)('%s %s answers 401 with the same challenge as JSON-RPC', async (method, path) => {
    const { status, headers } = await request(method, path)
    const { challenge } = await verdict({ token: null })
    expect([status, headers.get('www-authenticate')]).toEqual([401, challenge])
  })

  test.each(routes)('%s %s answers 403 without the scope (A2A-A13)', async (method, path) => {
    const token = await gateway.issuer.sign({ scope: 'a2a:nothing-of-these a2a:task.read' })
    const { status, headers } = await request(method, path, { authorization: `Bearer ${token}` })
    if (method === 'GET' && /^\/tasks(\/x)?$/.test(path)) return expect([200, 404]).toContain(status)
    expect(status).toBe(403)
    expect(headers.get('www-authenticate')).toMatch(/error="insufficient_scope", scope="a2a:[a-z.-]+"$/)
    return undefined
  })
})

describe('the gateway’s own tokens for calls by its agents', () => {
  const addresses = { origin: 'https://agents.test' }
  const ownToken = (audience: string) =>
    createTokenSigner(createOwnKeyRing(gateway.gateway), addresses, gateway.system)({ agent: 'echo', audience })

  test('are valid here only for what agents do', async () => {
    const token = await ownToken('https://agents.test')
    expect((await verdict({ token })).status).toBe(200)
    expect((await verdict({ token }, 'CreateTaskPushNotificationConfig')).status).toBe(403)
    await gateway.channel.keys?.rotate?.()
    expect((await verdict({ token: await ownToken('https://agents.test') })).status).toBe(200)
  })

  test('are not valid here if they are for a peer', async () => {
    const { status, message } = await verdict({ token: await ownToken('https://peer.test') })
    expect([status, message]).toEqual([401, 'Cannot verify token: claim does not hold: aud'])
  })

  test('are not valid from an issuer that the gateway trusts for others', async () => {
    const claims = { iss: 'https://agents.test', aud: 'https://agents.test', sub: 'echo@agents.test' }
    const { status, message } = await verdict({ token: await gateway.issuer.sign(claims) })
    expect([status, message]).toEqual([401, 'Cannot verify token: key is not one of its issuer'])
  })
})
