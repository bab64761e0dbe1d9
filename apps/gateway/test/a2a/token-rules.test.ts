import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TokenCallTarget, TokenDraft, TokenEndpoint, TokenGateway } from './token-setup.ts'
import { callWith, endpoints, makeProofKey, mintFor, openTokenGateway, prove } from './token-setup.ts'

// These tests run one table of attacks on both channels: every endpoint must refuse what one of them refuses.

let tokens: TokenGateway
const [owner, thief] = [makeProofKey(), makeProofKey()]
const year = 365 * 24 * 3600
const seconds = () => Math.floor(Date.now() / 1000)
const boundClaims = { cnf: { jkt: owner.thumbprint } }

type Credentials = Readonly<Record<string, string>>
type Attack = (target: TokenCallTarget) => Credentials

const bearer = (draft: TokenDraft): Attack => {
  return () => ({ authorization: `Bearer ${mintFor('ann', draft)}` })
}

const withProof = (draft: TokenDraft, proofFor = prove, key = owner): Attack => {
  return target => {
    const token = mintFor('ann', draft)
    return { authorization: `DPoP ${token}`, dpop: proofFor(token, target, key) }
  }
}

const validCredentials: readonly [string, Attack][] = [
  ['an access token', bearer({})],
  ['a plain JWT', bearer({ header: { typ: 'JWT' } })],
  ['an access token of an issuer that has to say so', bearer({ from: 'access' })],
  ['a token with every scope', bearer({ from: 'scoped', claims: { scope: 'a2a:task.read a2a:message.stream' } })],
  ['a token that counts once', bearer({ from: 'single' })],
  ['a bound token with its proof', withProof({ claims: boundClaims })],
  ['a bound token of an issuer that binds all', withProof({ from: 'bound', claims: boundClaims })],
  [
    'a token that ended within the tolerance of clocks',
    () => bearer({ claims: { exp: seconds() - 10 } })({ method: '', path: '' }),
  ],
  [
    'a token that begins within the tolerance of clocks',
    () => bearer({ claims: { nbf: seconds() + 20 } })({ method: '', path: '' }),
  ],
]

const invalidToken = { status: 401, error: 'invalid_token' }
const invalidProof = { status: 401, error: 'invalid_dpop_proof' }

const attacks: readonly [string, Attack, object][] = [
  ['a stolen bound token without proof', bearer({ claims: boundClaims }), invalidProof],
  ['a stolen bound token with a proof of the thief', withProof({ claims: boundClaims }, prove, thief), invalidProof],
  [
    'a bound token with a proof for another target',
    withProof({ claims: boundClaims }, (token, { method }, key) => prove(token, { method, path: '/elsewhere' }, key)),
    invalidProof,
  ],
  [
    'a bound token with a proof for another method',
    withProof({ claims: boundClaims }, (token, { path }, key) => prove(token, { method: 'PUT', path }, key)),
    invalidProof,
  ],
  [
    'a bound token with a proof for another token',
    withProof({ claims: boundClaims }, (_, target, key) => prove('a.b.c', target, key)),
    invalidProof,
  ],
  [
    'a bound token with an old proof',
    withProof({ claims: boundClaims }, (token, target, key) => prove(token, target, key, { iat: seconds() - 120 })),
    invalidProof,
  ],
  ['a proof beside a token that is not bound', withProof({}), invalidProof],
  ['a token that is not bound, of an issuer that binds all', bearer({ from: 'bound' }), invalidProof],
  [
    'a token that is bound to a certificate',
    bearer({ claims: { cnf: { 'x5t#S256': owner.thumbprint } } }),
    invalidToken,
  ],
  ['a token that is bound to nothing', bearer({ claims: { cnf: {} } }), invalidToken],
  ['an ID token with its nonce', bearer({ header: { typ: 'JWT' }, claims: { nonce: 'n-0S6_WzA2Mj' } }), invalidToken],
  [
    'an ID token with the hash of an access token',
    bearer({ header: { typ: 'JWT' }, claims: { at_hash: 'x' } }),
    invalidToken,
  ],
  ['an ID token that says so', bearer({ header: { typ: 'JWT' }, claims: { token_use: 'id' } }), invalidToken],
  ['a refresh token', bearer({ header: { typ: 'JWT' }, claims: { typ: 'Refresh' } }), invalidToken],
  ['a logout token', bearer({ header: { typ: 'logout+jwt' } }), invalidToken],
  ['a DPoP proof as a token', bearer({ header: { typ: 'dpop+jwt' } }), invalidToken],
  [
    'a plain JWT of an issuer whose access tokens say so',
    bearer({ from: 'access', header: { typ: 'JWT' } }),
    invalidToken,
  ],
  ['a token with a critical header', bearer({ header: { crit: ['exp'], exp: 1 } }), invalidToken],
  ['a token that lives 100 years', bearer({ claims: { exp: seconds() + 100 * year } }), invalidToken],
  ['a token that is over', bearer({ claims: { exp: seconds() - 35 } }), invalidToken],
  ['a token that begins in two minutes', bearer({ claims: { nbf: seconds() + 120 } }), invalidToken],
  ['a token that was issued in two minutes', bearer({ claims: { iat: seconds() + 120 } }), invalidToken],
  ['a token without an end', bearer({ claims: { exp: undefined } }), invalidToken],
  ['a token for somebody else', bearer({ claims: { aud: 'https://elsewhere.test' } }), invalidToken],
  [
    'a token for one use that cannot be told from others',
    bearer({ from: 'single', claims: { jti: undefined } }),
    invalidToken,
  ],
  [
    'a token for one use that lives an hour',
    bearer({ from: 'single', claims: { exp: seconds() + 3600 } }),
    invalidToken,
  ],
  ['a token without the scope it must have', bearer({ from: 'scoped' }), { status: 403, error: 'insufficient_scope' }],
  [
    'a token with the scope of something else',
    bearer({ claims: { scope: 'a2a:card.extended' } }),
    { status: 403, error: 'insufficient_scope' },
  ],
]

/** Sends one request twice, with the same credentials. */
async function callTwice(endpoint: TokenEndpoint, attack: Attack): Promise<readonly object[]> {
  const credentials = attack(endpoint)
  return [await callWith(tokens, endpoint, credentials), await callWith(tokens, endpoint, credentials)]
}

describe('when the A2A issuers have their own nonces and scopes', () => {
  beforeAll(async () => {
    tokens = await openTokenGateway('a2a', { dpop_nonce: true, scopes: { GetTask: 'read', ListTasks: 'read' } })
  })
  afterAll(() => tokens.close())

  test.each(endpoints)('$name asks for a proof with the nonce that it issued', async endpoint => {
    const token = mintFor('ann', { claims: boundClaims })
    const callWithNonce = (nonce?: string) =>
      callWith(tokens, endpoint, { authorization: `DPoP ${token}`, dpop: prove(token, endpoint, owner, { nonce }) })
    const { nonce, ...first } = await callWithNonce()
    expect([first, await callWithNonce(nonce)]).toMatchObject([
      { status: 401, error: 'use_dpop_nonce' },
      { status: 200 },
    ])
  })

  test.each(endpoints.filter(({ path }) => !path.endsWith('/runs')))(
    '$name accepts the configured names of scopes',
    async endpoint => {
      const callWithScope = (scope: string) => callWith(tokens, endpoint, bearer({ claims: { scope } })(endpoint))
      expect(await callWithScope('read')).toMatchObject({ status: 200 })
      expect(await callWithScope('a2a:task.cancel')).toMatchObject({ status: 403, scope: 'read' })
    },
  )
})

describe.each(['a2a', 'web'] as const)('when only `%s.auth` has the rules of the issuers', strict => {
  beforeAll(async () => {
    tokens = await openTokenGateway(strict)
  })
  afterAll(() => tokens.close())

  describe.each(endpoints)('$name', endpoint => {
    test.each(validCredentials)('accepts %s', async (_, credentials) => {
      expect(await callWith(tokens, endpoint, credentials(endpoint))).toMatchObject({ status: 200 })
    })

    test.each(attacks)('refuses %s', async (_, attack, refusal) => {
      expect(await callWith(tokens, endpoint, attack(endpoint))).toMatchObject(refusal)
    })

    test('refuses a single-use token the second time', async () => {
      const answers = await callTwice(endpoint, bearer({ from: 'single' }))
      expect(answers).toMatchObject([{ status: 200 }, invalidToken])
    })

    test('refuses a DPoP proof the second time', async () => {
      const answers = await callTwice(endpoint, withProof({ claims: boundClaims }))
      expect(answers).toMatchObject([{ status: 200 }, invalidProof])
    })
  })

  test('a single-use token counts once for all endpoints together', async () => {
    const credentials = bearer({ from: 'single' })({ method: '', path: '' })
    const statuses = []
    for (const endpoint of endpoints) statuses.push((await callWith(tokens, endpoint, credentials)).status)
    expect(statuses).toEqual([200, 401, 401, 401, 401])
  })
})
