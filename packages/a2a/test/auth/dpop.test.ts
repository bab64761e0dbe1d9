import { hash } from 'node:crypto'
import { createReplayMemory } from '@postern/http/tokens'
import { calculateJwkThumbprint, exportJWK, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import type { TestIssuerKey } from '../setup/issuer.ts'
import { makeIssuerKey } from '../setup/issuer.ts'

let gateway: A2aTestGateway
let holder: TestIssuerKey
let token: string
let number = 0

beforeEach(async () => {
  gateway = await openA2aGateway({ runsWorker: false })
  holder = await makeIssuerKey('holder')
  token = await gateway.issuer.sign({ cnf: { jkt: await calculateJwkThumbprint(holder.publicJwk) } })
})
afterEach(() => gateway.close())

const seconds = (server = gateway) => Math.floor(server.system.now() / 1000)

interface ProofPlan {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: TestIssuerKey
}

async function prove({ claims = {}, header = {}, key = holder }: ProofPlan = {}): Promise<string> {
  number += 1
  const honestProof = {
    jti: `proof-${number}`,
    htm: 'POST',
    htu: 'https://agents.test/a2a',
    iat: seconds(),
    ath: hash('sha256', token, 'base64url'),
  }
  const { kid: _kid, alg: _alg, use: _use, ...jwk } = key.publicJwk
  return new SignJWT({ ...honestProof, ...claims })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })
    .sign(key.privateKey)
}

async function call(headers: Readonly<Record<string, string>>, server = gateway, path = '/a2a') {
  const answer = await server.rpc('ListTasks', {}, { token: null, headers, path })
  const { status, headers: responseHeaders, body } = answer
  return {
    status,
    challenge: responseHeaders.get('www-authenticate'),
    nonce: responseHeaders.get('dpop-nonce'),
    message: body.error?.message,
  }
}

const callWithProof = async (plan?: ProofPlan) => call({ authorization: `DPoP ${token}`, dpop: await prove(plan) })

const algs = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'
const refused = (problem: string) => ({
  status: 401,
  challenge: `DPoP realm="agents.test", algs="${algs}", error="invalid_dpop_proof"`,
  nonce: null,
  message: `Cannot take request: ${problem}`,
})

test('the gateway accepts a bound token with its proof, and needs a new proof for each request', async () => {
  expect((await callWithProof()).status).toBe(200)
  expect((await callWithProof()).status).toBe(200)
})

test('the gateway compares the URL without its query in normal form', async () => {
  expect((await callWithProof({ claims: { htu: 'HTTPS://Agents.test:443/a2a?x=1#y' } })).status).toBe(200)
})

test('a proof over HTTP+JSON is for the method and URL of its route', async () => {
  const ask = async (htu: string) => {
    const dpop = await prove({ claims: { htm: 'GET', htu } })
    const headers = { authorization: `DPoP ${token}`, dpop, 'a2a-version': '1.0' }
    return (await gateway.request('/a2a/rest/tasks?pageSize=1', { headers })).status
  }
  expect(await ask('https://agents.test/a2a/rest/tasks')).toBe(200)
  expect(await ask('https://agents.test/a2a/rest/tasks?pageSize=2')).toBe(200)
  expect(await ask('https://agents.test/a2a/rest')).toBe(401)
})

describe('the gateway refuses with DPoP', () => {
  test.each<[string, () => ProofPlan, string]>([
    ['htm of another request', () => ({ claims: { htm: 'GET' } }), 'DPoP proof is for another method'],
    [
      'htu of another request',
      () => ({ claims: { htu: 'https://agents.test/agents/echo/a2a' } }),
      'DPoP proof is for another address',
    ],
    ['htu elsewhere', () => ({ claims: { htu: 'https://evil.test/a2a' } }), 'DPoP proof is for another address'],
    ['no htu', () => ({ claims: { htu: undefined } }), 'DPoP proof is for another address'],
    ['iat ten minutes old', () => ({ claims: { iat: seconds() - 600 } }), 'DPoP proof is too old'],
    ['iat in the future', () => ({ claims: { iat: seconds() + 60 } }), 'DPoP proof is not of this time'],
    ['no iat', () => ({ claims: { iat: undefined } }), 'DPoP proof is not of this time'],
    ['no jti', () => ({ claims: { jti: undefined } }), 'DPoP proof has no usable jti'],
    ['jti of 1 kB', () => ({ claims: { jti: 'j'.repeat(1_000) } }), 'DPoP proof has no usable jti'],
    [
      'ath of another token',
      () => ({ claims: { ath: hash('sha256', 'x', 'base64url') } }),
      'DPoP proof is for another token',
    ],
    ['no ath', () => ({ claims: { ath: undefined } }), 'DPoP proof is for another token'],
    ['another type', () => ({ header: { typ: 'jwt' } }), 'DPoP proof is of another type'],
    ['no key', () => ({ header: { jwk: undefined } }), 'DPoP proof holds no public key'],
  ])('%s', async (_, plan, problem) => {
    expect(await callWithProof(plan())).toEqual(refused(problem))
  })

  test('the same proof twice', async () => {
    const headers = { authorization: `DPoP ${token}`, dpop: await prove() }
    expect((await call(headers)).status).toBe(200)
    expect(await call(headers)).toEqual(refused('DPoP proof was used before'))
  })

  test('a private key in the proof', async () => {
    const jwk = await exportJWK(holder.privateKey)
    expect(await callWithProof({ header: { jwk } })).toEqual(refused('DPoP proof holds a private key'))
  })

  test('critical parameters', async () => {
    const header = Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', crit: ['b64'] })).toString('base64url')
    const dpop = (await prove()).replace(/^[^.]+/, header)
    expect(await call({ authorization: `DPoP ${token}`, dpop })).toEqual(
      refused('DPoP proof names critical parameters'),
    )
  })

  test('a symmetric algorithm', async () => {
    const jwk = { kty: 'oct', k: 'c2VjcmV0' }
    const dpop = await new SignJWT({ jti: 'x' })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk })
      .sign(Buffer.from('secret'))
    expect(await call({ authorization: `DPoP ${token}`, dpop })).toEqual(refused('DPoP proof holds no public key'))
  })

  test('the thumbprint of another key', async () => {
    const problem = 'DPoP proof is made with another key than the token is bound to'
    expect(await callWithProof({ key: await makeIssuerKey('thief') })).toEqual(refused(problem))
  })

  test('a signature of another key than the proof shows', async () => {
    const { privateKey } = await makeIssuerKey('thief')
    const problem = 'DPoP proof is not signed as it should be'
    expect(await callWithProof({ key: { ...holder, privateKey } })).toEqual(refused(problem))
  })

  test('a bound token without a proof, by either scheme', async () => {
    expect(await call({ authorization: `Bearer ${token}` })).toEqual(
      refused('token is bound to a key, and comes without DPoP proof'),
    )
    expect(await call({ authorization: `DPoP ${token}` })).toEqual(refused('DPoP proof is missing'))
  })

  test('a proof with an unbound token, by either scheme', async () => {
    token = gateway.token
    expect(await callWithProof()).toEqual(refused('token is not bound to a key, so a proof says nothing'))
    const headers = { authorization: `Bearer ${token}`, dpop: await prove() }
    expect(await call(headers)).toEqual(refused('a DPoP proof needs one DPoP token'))
  })

  test('two proofs, or an invalid one', async () => {
    const authorization = `DPoP ${token}`
    expect(await call({ authorization, dpop: `${await prove()}, ${await prove()}` })).toEqual(
      refused('expected one DPoP proof'),
    )
    expect(await call({ authorization, dpop: 'a.b.c' })).toEqual(refused('DPoP proof is not a JWT'))
  })

  test('a proof for another agent’s URL', async () => {
    const headers = { authorization: `DPoP ${token}`, dpop: await prove() }
    expect(await call(headers, gateway, '/agents/echo/a2a')).toEqual(refused('DPoP proof is for another address'))
  })

  test('an unbound token of an issuer that must bind them', async () => {
    const strictGateway = await openA2aGateway({ runsWorker: false, issuer: { require_dpop: true } })
    const { status, message } = await call({ authorization: `Bearer ${strictGateway.token}` }, strictGateway)
    expect([status, message]).toEqual([401, 'Cannot take request: token is not bound to a key'])
    expect((await call({}, strictGateway)).challenge).toBe(`DPoP realm="agents.test", algs="${algs}"`)
    await strictGateway.close()
  })
})

test('the gateway answers a stale or missing nonce with a fresh one, which then works', async () => {
  const strictGateway = await openA2aGateway({ runsWorker: false, config: { auth: { dpop_nonce: true } } })
  token = await strictGateway.issuer.sign({ cnf: { jkt: await calculateJwkThumbprint(holder.publicJwk) } })
  const attempt = async (nonce?: string) =>
    call(
      { authorization: `DPoP ${token}`, dpop: await prove({ claims: { nonce, iat: seconds(strictGateway) } }) },
      strictGateway,
    )
  const first = await attempt()
  expect(first).toMatchObject({
    status: 401,
    challenge: `DPoP realm="agents.test", algs="${algs}", error="use_dpop_nonce"`,
    nonce: expect.stringMatching(/^[\w-]{27}$/),
  })
  const nonce = first.nonce ?? ''
  expect((await attempt(nonce)).status).toBe(200)
  strictGateway.system.advance(11 * 60_000)
  token = await strictGateway.issuer.sign({ cnf: { jkt: await calculateJwkThumbprint(holder.publicJwk) } })
  const staleAnswer = await attempt(nonce)
  expect([staleAnswer.status, staleAnswer.nonce === nonce]).toEqual([401, false])
  expect((await attempt(staleAnswer.nonce ?? '')).status).toBe(200)
  await strictGateway.close()
})

describe('createReplayMemory()', () => {
  const start = (bounds: Parameters<typeof createReplayMemory>[1]) => {
    const clock = { at: 0 }
    const memory = createReplayMemory(() => clock.at, bounds)
    return { clock, take: (id: string, expiresAt: number, owner = 'me') => memory.consume({ id, owner, expiresAt }) }
  }
  const refusal = 'Cannot take request: too many in a short time'

  test('refuses proofs when it is full, and drops expired ones', () => {
    const { clock, take } = start({ entries: 2, perOwner: 2 })
    expect([take('a', 5_000), take('b', 9_000), take('a', 5_000)]).toEqual([true, true, false])
    expect(() => take('c', 9_000, 'you')).toThrow(refusal)
    // A proof is still valid at the very end of its lifetime.
    clock.at = 5_000
    expect(take('a', 5_000)).toBe(false)
    clock.at = 5_001
    expect([take('c', 9_000), take('b', 9_000)]).toEqual([true, false])
  })

  test('lets no caller use the capacity of others', () => {
    const { clock, take } = start({ entries: 10, perOwner: 2 })
    expect([take('a', 5_000), take('b', 5_000)]).toEqual([true, true])
    expect(() => take('c', 9_000)).toThrow(refusal)
    expect(take('c', 9_000, 'you')).toBe(true)
    clock.at = 6_000
    expect([take('a', 9_000), take('d', 9_000)]).toEqual([true, true])
    expect(() => take('e', 9_000)).toThrow(refusal)
  })
})
