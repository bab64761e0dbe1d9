import { hash } from 'node:crypto'
import type { Store } from '@postern/pipeline'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { IssuerTrust, TokenVerifierDeps } from '../../src/tokens/index.ts'
import { createTokenVerifier, defaultScopes, joinTokenRules } from '../../src/tokens/index.ts'

// The window in which a token and a proof count, to the second, as docs/explanation/identity/a2a.md says it.

const now = 1_800_000_000
const origin = 'https://agents.test'
const rules = { require_at_jwt: false, require_scopes: false, require_dpop: false, single_use: false }
let keys: CryptoKeyPair
let jkt: string
let jwk: Awaited<ReturnType<typeof exportJWK>>

beforeAll(async () => {
  keys = await generateKeyPair('ES256', { extractable: true })
  jwk = await exportJWK(keys.publicKey)
  jkt = await calculateJwkThumbprint(jwk)
})

/** Returns true if the verifier accepts a token and a proof with these claims. */
async function isAccepted(claims: object, proofClaims?: object, tolerance = 30): Promise<boolean> {
  const usedIds = new Set<string>()
  const store = {
    consumeOnce: async (key: string) => !usedIds.has(key) && Boolean(usedIds.add(key)),
    openSecret: async () => ({ list: () => ['secret'] }),
  } as unknown as Store
  const system = { now: () => now * 1000, randomBytes: (length: number) => new Uint8Array(length) }
  const trust: IssuerTrust = {
    config: { ...rules, issuer: 'https://login.test', audience: origin, algorithms: ['ES256'] },
    keys: { find: async () => keys.publicKey, generation: () => 0 },
  }
  const verify = createTokenVerifier(
    {
      issuers: [trust],
      rules: { clock_tolerance_seconds: tolerance, dpop_nonce: false },
      scopes: defaultScopes,
      describe: (_, scopes) => ({ scopes, scheme: 'Bearer' as const }),
    },
    { system, store, origin } satisfies TokenVerifierDeps,
  )
  const bound = proofClaims && { cnf: { jkt } }
  const allClaims = { iss: 'https://login.test', aud: origin, sub: 'ann', exp: now + 300, ...bound, ...claims }
  const token = await new SignJWT(allClaims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' }).sign(keys.privateKey)
  const proof = proofClaims && (await prove(token, proofClaims))
  const headers = new Headers()
  const visit = { headers, method: 'GET', url: 'http://127.0.0.1/v1/usage' }
  return Promise.resolve(verify({ kind: 'token', token, proof }, visit)).then(
    () => true,
    () => false,
  )
}

function prove(token: string, claims: object): Promise<string> {
  const honest = { jti: 'p', htm: 'GET', htu: `${origin}/v1/usage`, iat: now, ath: hash('sha256', token, 'base64url') }
  const header = { alg: 'ES256', typ: 'dpop+jwt', jwk }
  return new SignJWT({ ...honest, ...claims }).setProtectedHeader(header).sign(keys.privateKey)
}

const maxLife = 366 * 24 * 3600

describe.each([0, 30, 60])('with clocks that may differ by %i s', tolerance => {
  test.each<[string, object, object]>([
    ['its end', { exp: now - tolerance + 1 }, { exp: now - tolerance }],
    ['its beginning', { nbf: now + tolerance }, { nbf: now + tolerance + 1 }],
    ['when it was issued', { iat: now + tolerance }, { iat: now + tolerance + 1 }],
    ['its longest life', { exp: now + maxLife }, { exp: now + maxLife + 1 }],
  ])('a token is valid to the second: %s', async (_, last, next) => {
    expect(await isAccepted(last, undefined, tolerance)).toBe(true)
    expect(await isAccepted(next, undefined, tolerance)).toBe(false)
  })

  test.each([
    ['a minute old', { iat: now - 60 - tolerance }, { iat: now - 60 - tolerance - 1 }],
    ['made ahead of our clock', { iat: now + tolerance }, { iat: now + tolerance + 1 }],
  ])('a proof is valid to the second: %s', async (_, last, next) => {
    expect(await isAccepted({}, last, tolerance)).toBe(true)
    expect(await isAccepted({}, next, tolerance)).toBe(false)
  })
})

test.each([
  ['x', true],
  ['x'.repeat(512), true],
  ['x'.repeat(513), false],
  ['', false],
  ['\ud83d', false],
  [7, false],
])('the verifier handles a token with the principal %j: %s', async (sub, isName) => {
  expect(await isAccepted({ sub })).toBe(isName)
  expect(await isAccepted({ sub: undefined, client_id: sub })).toBe(isName)
})

describe('joinTokenRules()', () => {
  const auth = (issuer: string, overrides: object = {}) => ({
    issuers: [{ issuer, ...rules, ...overrides }],
    clock_tolerance_seconds: 30,
    dpop_nonce: false,
  })

  test('makes an issuer of both channels meet both requirements, with the stricter clock and nonce', () => {
    const strict = { ...auth('a', { single_use: true }), clock_tolerance_seconds: 5, dpop_nonce: true }
    const joinedRules = joinTokenRules(auth('a', { require_dpop: true }), strict)
    expect(joinedRules).toEqual({
      issuers: [{ issuer: 'a', ...rules, require_dpop: true, single_use: true }],
      clock_tolerance_seconds: 5,
      dpop_nonce: true,
    })
  })

  test('keeps the rules of an issuer in only one channel', () => {
    const ownRules = auth('a')
    expect(joinTokenRules(ownRules, { ...auth('b', { require_dpop: true }), clock_tolerance_seconds: 5 })).toEqual(
      ownRules,
    )
  })
})
