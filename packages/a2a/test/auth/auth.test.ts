import { issuerKeyTimes } from '@postern/http/tokens'
import { generateSecret, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { a2aConfigSchema } from '../../src/index.ts'
import type { A2aPostOptions, A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { makeIssuerKey } from '../setup/issuer.ts'

let gateway: A2aTestGateway

beforeEach(async () => {
  gateway = await openA2aGateway({ runsWorker: false })
})
afterEach(() => gateway.close())

const list = (options: A2aPostOptions = {}) => gateway.rpc('ListTasks', {}, options)

async function verdict(token: string) {
  const { status, headers, body } = await list({ token })
  return { status, challenge: headers.get('www-authenticate'), message: body.error?.message }
}

const refused = (problem: string) => ({
  status: 401,
  challenge: 'Bearer realm="agents.test", error="invalid_token"',
  message: `Cannot verify token: ${problem}`,
})
const accepted = { status: 200, challenge: null, message: undefined }
const seconds = () => Math.floor(gateway.system.now() / 1000)

describe('a call without a credential (A2A-A01)', () => {
  test.each(['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SendStreamingMessage', 'NoSuchMethod'])(
    'to %s gets 401 with a challenge and no details',
    async method => {
      const { status, headers, body } = await gateway.rpc(method, {}, { token: null })
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toBe('Bearer realm="agents.test"')
      expect(body).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32000,
          message: 'Cannot take request: credentials are missing',
          data: [{ reason: 'UNAUTHENTICATED' }],
        },
      })
    },
  )

  test('gets 401 even with a token in the query', async () => {
    expect((await list({ token: null, path: `/a2a?access_token=${gateway.token}` })).status).toBe(401)
  })
})

describe('the Authorization header (A2A-A02)', () => {
  test('accepts the scheme in any case', async () => {
    const { status } = await list({ token: null, headers: { authorization: `bEARER ${gateway.token}` } })
    expect(status).toBe(200)
  })

  test.each<[string, (token: string) => string]>([
    ['an opaque token', () => 'Bearer f3c91b7a'],
    ['A2A-A16 with 100 dots', () => `Bearer ${'a.'.repeat(100)}a`],
    ['A2A-A16 unencoded JSON', () => 'Bearer {"alg":"none"}.{"sub":"alice"}.'],
    ['A2A-A03 empty signature', token => `Bearer ${token.slice(0, token.lastIndexOf('.') + 1)}`],
  ])('gets 401 as not a JWT: %s', async (_, authorization) => {
    const { status, body } = await list({ token: null, headers: { authorization: authorization(gateway.token) } })
    const problem = 'the Bearer token is not a signed JWT, which has three parts with dots between them'
    expect([status, body.error?.message]).toEqual([401, `Cannot take request: ${problem}`])
  })

  test.each([
    ['twice', (token: string) => `Bearer ${token}, Bearer ${token}`],
    ['Basic', () => 'Basic YTpi'],
    ['without token', () => 'Bearer'],
    ['A2A-A16 of 1 MB', () => `Bearer a.b.${'c'.repeat(1_000_000)}`],
  ])('gets 401: %s', async (_, authorization) => {
    const { status, body } = await list({ token: null, headers: { authorization: authorization(gateway.token) } })
    expect([status, body.error?.message]).toEqual([401, 'Cannot take request: expected one Bearer token'])
  })
})

describe('the verifier refuses', () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = () => ({ iss: gateway.issuer.issuer, aud: gateway.issuer.audience, sub: 'alice', exp: seconds() + 60 })

  test('a token with alg none (A2A-A03)', async () => {
    const token = `${encode({ alg: 'none', kid: 'key-1' })}.${encode(claims())}.AAAA`
    expect(await verdict(token)).toEqual(refused('algorithm is not one of its issuer'))
  })

  test('a token with HS256 and the public key as secret (A2A-A04)', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(gateway.issuer.key.publicJwk))
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(secret)
    expect(await verdict(token)).toEqual(refused('algorithm is not one of its issuer'))
  })

  test('a symmetric key in the key set', async () => {
    const secret = (await generateSecret('HS256', { extractable: true })) as CryptoKey
    gateway.issuer.keys = [{ kty: 'oct', kid: 'shared', k: 'c2VjcmV0' }]
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'shared' }).sign(secret)
    expect((await verdict(token)).status).toBe(401)
  })

  test('a published key with an unlisted algorithm (A2A-A05)', async () => {
    const otherKey = await makeIssuerKey('rsa', 'RS256')
    gateway.issuer.keys = [...gateway.issuer.keys, otherKey.publicJwk]
    const token = await gateway.issuer.sign({}, { alg: 'RS256' }, otherKey)
    expect(await verdict(token)).toEqual(refused('algorithm is not one of its issuer'))
  })

  test('keys and URLs in the token itself (A2A-A06)', async () => {
    const attacker = await makeIssuerKey('key-1')
    const header = { jwk: attacker.publicJwk, jku: 'https://evil.test/keys', x5u: 'https://evil.test/cert' }
    const requestedUrls: string[] = []
    const { fetch } = gateway.system
    Object.assign(gateway.system, {
      fetch: (url: string, request: object) => {
        requestedUrls.push(url)
        return fetch(url, request)
      },
    })
    expect(await verdict(await gateway.issuer.sign({}, header, attacker))).toEqual(refused('signature is wrong'))
    expect(requestedUrls.filter(url => url !== gateway.issuer.jwks)).toEqual([])
  })

  test('a token with one changed character', async () => {
    const position = gateway.token.length - 40
    const alteredToken =
      gateway.token.slice(0, position) +
      (gateway.token[position] === 'A' ? 'B' : 'A') +
      gateway.token.slice(position + 1)
    expect(await verdict(alteredToken)).toEqual(refused('signature is wrong'))
  })

  test('a token with critical parameters', async () => {
    const token = `${encode({ alg: 'ES256', kid: 'key-1', crit: ['b64'], b64: false })}.${encode(claims())}.AAAA`
    expect(await verdict(token)).toEqual(refused('it names critical parameters'))
  })

  test('three parts that are not a JWT', async () => {
    expect(await verdict('a.b.c')).toEqual(refused('not a JWT'))
  })
})

describe('the claims', () => {
  const origins = ['https://other.test/a2a']
  test.each<[string, () => Record<string, unknown>, string]>([
    ['A2A-A10 wrong iss', () => ({ iss: 'https://evil.test' }), 'issuer is not trusted'],
    ['A2A-A10 iss with a slash at the end', () => ({ iss: 'https://issuer.test/' }), 'issuer is not trusted'],
    ['A2A-A10 iss missing', () => ({ iss: undefined }), 'issuer is not trusted'],
    ['A2A-A10 aud of another service', () => ({ aud: origins[0] }), 'claim does not hold: aud'],
    ['A2A-A10 aud missing', () => ({ aud: undefined }), 'claim does not hold: aud'],
    ['A2A-A11 expired by an hour', () => ({ exp: seconds() - 3_600 }), 'it is expired'],
    ['A2A-A11 expired by more than the tolerance', () => ({ exp: seconds() - 32 }), 'it is expired'],
    ['A2A-A11 nbf in the future', () => ({ nbf: seconds() + 90 }), 'claim does not hold: nbf'],
    ['A2A-A11 iat in the future', () => ({ iat: seconds() + 90 }), 'it was issued in the future'],
    ['A2A-A11 no exp', () => ({ exp: undefined }), 'claim does not hold: exp'],
    ['A2A-A11 exp a string', () => ({ exp: 'tomorrow' }), 'claim does not hold: exp'],
    ['A2A-A11 exp 1e300', () => ({ exp: 1e300 }), 'it lives too long'],
    ['A2A-A15 a sub that a store could take for another', () => ({ sub: 'a\ud800' }), 'it names no principal'],
    ['A2A-A12 an ID token', () => ({ nonce: 'n' }), 'it is not an access token'],
    ['A2A-A12 a refresh token', () => ({ typ: 'Refresh' }), 'it is not an access token'],
    ['A2A-A12 use of an ID token', () => ({ token_use: 'id' }), 'it is not an access token'],
    ['A2A-A15 no principal', () => ({ sub: undefined }), 'it names no principal'],
    ['A2A-A15 sub a number', () => ({ sub: 5 }), 'it names no principal'],
    ['A2A-A15 sub empty', () => ({ sub: '', client_id: 'c' }), 'it names no principal'],
    [
      'bound to a certificate',
      () => ({ cnf: { 'x5t#S256': 'x' } }),
      'it is bound to a key in a way that is not supported',
    ],
    ['bound to no thumbprint', () => ({ cnf: { jkt: 'x' } }), 'it is bound to a key in a way that is not supported'],
  ])('%s', async (_, claims, problem) => {
    expect(await verdict(await gateway.issuer.sign(claims()))).toEqual(refused(problem))
  })

  test.each<[string, () => Record<string, unknown>]>([
    ['A2A-A10 an audience array that holds ours', () => ({ aud: [...origins, gateway.issuer.audience] })],
    ['A2A-A11 expired within the tolerance', () => ({ exp: seconds() - 20 })],
    ['client_id instead of sub', () => ({ sub: undefined, client_id: 'robot' })],
  ])('%s: accepted', async (_, claims) => {
    expect(await verdict(await gateway.issuer.sign(claims()))).toEqual(accepted)
  })

  test.each([
    ['A2A-A12 another type of token', 'dpop+jwt', 'its type is not one of an access token'],
    ['A2A-A12 a logout token', 'logout+jwt', 'its type is not one of an access token'],
  ])('%s', async (_, typ, problem) => {
    expect(await verdict(await gateway.issuer.sign({}, { typ }))).toEqual(refused(problem))
  })
})

describe('the principal', () => {
  async function senderOf(token: string) {
    const { body } = await gateway.sendText(
      'x',
      { metadata: { from: 'alice' } },
      { token, configuration: { returnImmediately: true } },
    )
    const [turn] = await gateway.store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
    return { sender: turn?.content.sender, task: body.result.task, turn }
  }

  test('is the token’s subject, whatever the message says (A2A-A21)', async () => {
    const { sender } = await senderOf(await gateway.issuer.sign({ sub: 'bob' }))
    expect(sender).toMatchObject({ address: '@bob@issuer.test', auth_method: 'a2a-jwt', verified: true })
  })

  test('counts as OAuth if the token has typ at+jwt', async () => {
    const { sender } = await senderOf(await gateway.issuer.sign({}, { typ: 'at+jwt' }))
    expect(sender).toMatchObject({
      auth_method: 'a2a-oauth',
      identities: [{ method: 'urn:mentionable:auth:a2a-oauth:v0.1', subject: 'alice', assurance: 'oauth' }],
    })
  })

  test('is the pair of issuer and subject, so that the same sub of another issuer differs (A2A-A15)', async () => {
    const { id } = (await senderOf(gateway.token)).task
    const ownAnswer = await gateway.rpc('GetTask', { id })
    expect(ownAnswer.body.result.id).toBe(id)
    const otherAnswer = await gateway.rpc(
      'GetTask',
      { id },
      { token: await gateway.issuer.sign({ sub: undefined, client_id: 'alice' }) },
    )
    expect(otherAnswer.body.error?.code).toBe(-32001)
  })

  test('appears to the operator with its proof, and without the token', async () => {
    const { turn } = await senderOf(gateway.token)
    const record = await gateway.store.findMessage(turn?.content.id ?? '')
    expect(record?.proofs).toEqual([
      {
        kind: 'jwt',
        verdict: 'pass',
        key_id: 'key-1',
        algorithm: 'ES256',
        issuer: 'https://issuer.test',
        subject: 'alice',
      },
    ])
    expect(JSON.stringify([record, gateway.system.logged])).not.toContain(gateway.token.split('.')[2])
  })
})

describe('the keys of an issuer', () => {
  test('need one fetch for any number of tokens', async () => {
    const tokens = await Promise.all(['a', 'b', 'c', 'd'].map(sub => gateway.issuer.sign({ sub })))
    await Promise.all(tokens.map(token => list({ token })))
    await list()
    expect(gateway.issuer.fetches).toBe(1)
  })

  test('need at most one more fetch per cool-down for unknown kids, however many come (A2A-A07)', async () => {
    const stranger = await makeIssuerKey('stranger')
    const tokens = await Promise.all(
      Array.from({ length: 500 }, (_, index) => gateway.issuer.sign({ jti: String(index) }, {}, stranger)),
    )
    for (const token of tokens) expect(await verdict(token)).toEqual(refused('key is not one of its issuer'))
    expect(gateway.issuer.fetches).toBe(1)
    gateway.system.advance(issuerKeyTimes.cooldownMs)
    const verdicts = await Promise.all(tokens.map(verdict))
    expect(verdicts.every(({ status }) => status === 401)).toBe(true)
    expect(gateway.issuer.fetches).toBe(2)
  })

  test('change with one more fetch: a new key works, and a removed one stops (A2A-A08)', async () => {
    await list()
    const oldToken = gateway.token
    gateway.issuer.key = await makeIssuerKey('key-2')
    gateway.issuer.keys = [gateway.issuer.key.publicJwk]
    gateway.system.advance(issuerKeyTimes.cooldownMs)
    expect(await verdict(await gateway.issuer.sign())).toEqual(accepted)
    expect(gateway.issuer.fetches).toBe(2)
    expect(await verdict(oldToken)).toEqual(refused('key is not one of its issuer'))
  })

  test('stop working within the bound after their removal, also for known tokens (A2A-A08)', async () => {
    const token = await gateway.issuer.sign({ exp: seconds() + 86_400 })
    expect(await verdict(token)).toEqual(accepted)
    gateway.issuer.keys = []
    gateway.system.advance(issuerKeyTimes.maxAgeMs - 1_000)
    expect(await verdict(token)).toEqual(accepted)
    gateway.system.advance(1_000)
    expect(await verdict(token)).toEqual(refused('key is not one of its issuer'))
  })

  test('do not keep an expired token valid', async () => {
    const token = await gateway.issuer.sign({ exp: seconds() + 60 })
    expect(await verdict(token)).toEqual(accepted)
    gateway.system.advance(100_000)
    expect(await verdict(token)).toEqual(refused('it is expired'))
  })

  test.each(['down', 'garbage', 'redirect', 'huge', 'slow'] as const)(
    'answer with %s: the gateway answers 503 with Retry-After and does not retry at once (A2A-A09)',
    { timeout: 60_000 },
    async answer => {
      gateway.issuer.answer = answer
      const first = await list()
      expect([first.status, first.headers.get('retry-after')]).toEqual([503, '5'])
      expect(first.body.error).toMatchObject({
        code: -32000,
        message: 'Cannot verify token: keys of its issuer cannot be fetched',
        data: [{ reason: 'UNAVAILABLE' }, { retryDelay: '5s' }],
      })
      await list()
      expect(gateway.issuer.fetches).toBe(1)
      gateway.issuer.answer = 'keys'
      gateway.system.advance(issuerKeyTimes.pauseMs)
      expect((await list()).status).toBe(200)
    },
  )

  test('keep working from the cache while the issuer is down, and then the gateway answers 503 (A2A-A09)', async () => {
    const token = await gateway.issuer.sign({ exp: seconds() + 86_400 })
    await list({ token })
    gateway.issuer.answer = 'down'
    gateway.system.advance(issuerKeyTimes.maxAgeMs)
    expect(await verdict(token)).toEqual(accepted)
    const stranger = await gateway.issuer.sign({}, {}, await makeIssuerKey('stranger'))
    expect((await verdict(stranger)).status).toBe(503)
    gateway.system.advance(issuerKeyTimes.staleLimitMs)
    expect((await verdict(token)).status).toBe(503)
  })
})

describe('the configuration', () => {
  const issuer = { issuer: 'https://i.test', jwks: 'https://i.test/keys', audience: 'us' }
  const parse = (changed: object) => a2aConfigSchema.safeParse({ auth: { issuers: [{ ...issuer, ...changed }] } })

  test.each(['HS256', 'none', 'dir', 'RSA1_5'])('refuses the algorithm %s', algorithm => {
    expect(parse({ algorithms: [algorithm] }).success).toBe(false)
  })

  test('refuses an empty list of algorithms, keys without http, and a repeated issuer', () => {
    expect(parse({ algorithms: [] }).success).toBe(false)
    expect(parse({ jwks: 'ftp://i.test/keys' }).success).toBe(false)
    expect(a2aConfigSchema.safeParse({ auth: { issuers: [issuer, issuer] } }).success).toBe(false)
  })

  test.each(['my-issuer', 'urn:issuer:1', 'https://i.test/a b'])('refuses the issuer %s, which has no host', name => {
    expect(parse({ issuer: name }).success).toBe(false)
  })

  test('admits no caller by default', () => {
    expect(a2aConfigSchema.parse({}).auth).toMatchObject({ anonymous: false, issuers: [] })
  })

  test('refuses tokens without typ at+jwt if require_at_jwt is set', async () => {
    const strictGateway = await openA2aGateway({ runsWorker: false, issuer: { require_at_jwt: true } })
    const untypedAnswer = await strictGateway.rpc('ListTasks')
    expect([untypedAnswer.status, untypedAnswer.body.error?.message]).toEqual([
      401,
      'Cannot verify token: it is not typed as an access token',
    ])
    const typedAnswer = await strictGateway.rpc(
      'ListTasks',
      {},
      { token: await strictGateway.issuer.sign({}, { typ: 'at+jwt' }) },
    )
    expect(typedAnswer.status).toBe(200)
    await strictGateway.close()
  })
})
