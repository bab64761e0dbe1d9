import { hash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiKeyCheck } from '../src/auth/api-keys.ts'
import { a2aConfigSchema } from '../src/index.ts'
import type { PostOptions, TestHouse } from './house.ts'
import { openTestHouse } from './house.ts'

const key = 'a-key-of-many-random-bytes'
const keys = [
  { name: 'ci', sha256: hash('sha256', key) },
  { name: 'reader', sha256: hash('sha256', 'the-other-key'), scopes: ['a2a:task.read'] },
]

let house: TestHouse

beforeEach(async () => {
  house = await openTestHouse({ works: false, config: { auth: { api_keys: keys } } })
})
afterEach(() => house.close())

async function verdict(options: PostOptions, method = 'ListTasks', at = house) {
  const { status, headers, body } = await at.rpc(method, {}, options)
  return { status, challenge: headers.get('www-authenticate'), message: body.error?.message }
}

const withKey = (value: string) => ({ token: null, headers: { 'x-api-key': value } })
const refusedKey = {
  status: 401,
  challenge: 'ApiKey realm="agents.test", header="X-API-Key", error="invalid_token"',
  message: 'Cannot take request: API key is not one of ours',
}

describe('A17 API keys', () => {
  test('are known by their digest alone', async () => {
    expect((await verdict(withKey(key))).status).toBe(200)
    const [turn] = await (async () => {
      await house.say('hi', {}, { ...withKey(key), configuration: { returnImmediately: true } })
      return house.desk.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
    })()
    expect(turn?.content.sender).toMatchObject({
      address: expect.stringMatching(/^@ci~[0-9a-f]{12}@agents\.test$/),
      auth_method: 'a2a-oauth',
      verified: true,
      identities: [{ subject: 'ci', issuer: 'https://agents.test' }],
    })
    expect(JSON.stringify([turn?.content, house.world.logged])).not.toContain(key)
  })

  test.each([
    ['one wrong byte', key.replace('y-', 'z-')],
    ['a blank inside', key.replace('-', ' ')],
    ['the digest itself', hash('sha256', key)],
    ['another length', `${key}x`],
    ['far too long', 'k'.repeat(2_000)],
  ])('%s: 401', async (_, value) => {
    expect(await verdict(withKey(value))).toEqual(refusedKey)
  })

  test('a blank at the end is another key (in a header it is no part of the value, RFC 9110 §5.5)', () => {
    const check = createApiKeyCheck(a2aConfigSchema.parse({ auth: { api_keys: keys } }).auth.api_keys)
    expect(check(key).name).toBe('ci')
    expect(() => check(`${key} `)).toThrow('Cannot take request: API key is not one of ours')
  })

  test('beside a token are refused: one request, one caller', async () => {
    const { status, message } = await verdict({ headers: { 'x-api-key': key } })
    expect([status, message]).toEqual([401, 'Cannot take request: expected one credential'])
  })

  test('are told of by the challenge', async () => {
    expect((await verdict({ token: null })).challenge).toBe(
      'Bearer realm="agents.test", ApiKey realm="agents.test", header="X-API-Key"',
    )
  })

  test('each own what came with them', async () => {
    const { body } = await house.say('hi', {}, { ...withKey(key), configuration: { returnImmediately: true } })
    const { id } = body.result.task
    expect((await house.rpc('GetTask', { id }, withKey(key))).body.result.id).toBe(id)
    expect((await house.rpc('GetTask', { id }, withKey('the-other-key'))).body.error?.code).toBe(-32001)
  })

  test('where none are configured, the header is somebody else’s', async () => {
    const without = await openTestHouse({ works: false })
    expect((await verdict({ headers: { 'x-api-key': key } }, 'ListTasks', without)).status).toBe(200)
    await without.close()
  })

  test.each([
    ['a key in clear', { name: 'ci', sha256: key }],
    ['a name that is none', { name: '@ci', sha256: keys[0]?.sha256 }],
  ])('%s is no configuration', (_, entry) => {
    expect(a2aConfigSchema.safeParse({ auth: { api_keys: [entry] } }).success).toBe(false)
  })
})

describe('A13 scopes', () => {
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
  ])('%s needs %s of a token that is held to scopes', async (method, scope) => {
    const token = await house.issuer.sign({ scope: 'openid a2a:task.read' }, { typ: 'at+jwt' })
    expect(await verdict({ token }, method)).toEqual(refused(scope))
    expect((await verdict({ token })).status).toBe(200)
  })

  test('of an API key are the ones it was given', async () => {
    const challenge = 'ApiKey realm="agents.test", header="X-API-Key"'
    expect(await verdict(withKey('the-other-key'), 'CancelTask')).toEqual(refused('a2a:task.cancel', challenge))
    expect((await verdict(withKey('the-other-key'))).status).toBe(200)
  })

  test('of others limit nothing, unless the issuer has to give ours', async () => {
    const scope = 'openid profile'
    expect((await verdict({ token: await house.issuer.sign({ scope }) })).status).toBe(200)
    const strict = await openTestHouse({ works: false, issuer: { require_scopes: true } })
    expect(await verdict({ token: await strict.issuer.sign({ scope }) }, 'ListTasks', strict)).toEqual(
      refused('a2a:task.read'),
    )
    expect(await verdict({}, 'ListTasks', strict)).toEqual(refused('a2a:task.read'))
    const token = await strict.issuer.sign({ scp: ['a2a:task.read'] })
    expect((await verdict({ token }, 'ListTasks', strict)).status).toBe(200)
    await strict.close()
  })

  test('go by the names that are configured', async () => {
    const scopes = { ListTasks: 'read:tasks' }
    const named = await openTestHouse({ works: false, issuer: { require_scopes: true }, config: { auth: { scopes } } })
    expect(await verdict({}, 'ListTasks', named)).toEqual(refused('read:tasks'))
    const token = await named.issuer.sign({ scope: 'read:tasks' })
    expect((await verdict({ token }, 'ListTasks', named)).status).toBe(200)
    expect(await verdict({ token }, 'CancelTask', named)).toEqual(refused('a2a:task.cancel'))
    await named.close()
  })
})

test('A14 a tenant we do not have is answered alike, whatever the token claims', async () => {
  const answers = await Promise.all(
    ['a', 'b'].map(async tenant => {
      const token = await house.issuer.sign({ tenant })
      return (await house.rpc('GetTask', { id: 'x', tenant: 'b' }, { token })).text
    }),
  )
  expect(answers[0]).toContain('is not a tenant of this agent')
  expect(answers[1]).toBe(answers[0])
})

describe('A18 a token for one use', () => {
  test('counts once', async () => {
    const once = await openTestHouse({ works: false, issuer: { single_use: true } })
    const token = await once.issuer.sign({ jti: 'a' })
    expect((await verdict({ token }, 'ListTasks', once)).status).toBe(200)
    expect(await verdict({ token }, 'ListTasks', once)).toEqual({
      status: 401,
      challenge: 'Bearer realm="agents.test", error="invalid_token"',
      message: 'Cannot verify token: it was used before',
    })
    const nameless = await verdict({ token: await once.issuer.sign() }, 'ListTasks', once)
    expect(nameless.message).toBe('Cannot verify token: it is for one use and has no jti')
    const lasting = await once.issuer.sign({ jti: 'b', exp: Math.floor(once.world.now() / 1000) + 7_200 })
    expect((await verdict({ token: lasting }, 'ListTasks', once)).message).toBe(
      'Cannot verify token: it is for one use and lives too long',
    )
    await once.close()
  })
})

describe('T02 another caller’s task', () => {
  const methods = ['GetTask', 'CancelTask', 'SubscribeToTask']

  test.each(methods)('%s: answered byte for byte like none, with an id of the same length', async method => {
    const { body } = await house.say('hi', {}, { configuration: { returnImmediately: true } })
    const other = { token: await house.issuer.sign({ sub: 'mallory' }) }
    const foreign = await house.rpc(method, { id: body.result.task.id }, other)
    const missing = await house.rpc(method, { id: '00000000-0000-4000-8000-000000000000' }, other)
    expect(foreign.text).toBe(missing.text)
    expect([...foreign.headers]).toEqual([...missing.headers])
  })

  test('a message to it, too', async () => {
    const { body } = await house.say('hi', {}, { configuration: { returnImmediately: true } })
    const other = { token: await house.issuer.sign({ sub: 'mallory' }) }
    const foreign = await house.say('more', { taskId: body.result.task.id }, other)
    const missing = await house.say('more', { taskId: '00000000-0000-4000-8000-000000000000' }, other)
    expect(foreign.body.error?.code).toBe(-32001)
    expect(foreign.text).toBe(missing.text)
  })
})
