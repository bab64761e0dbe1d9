import { hash } from 'node:crypto'
import { Unavailable } from '@postern/message'
import { calculateJwkThumbprint, importJWK, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openChallenger } from '../../src/auth/schemes.ts'
import { a2aConfigSchema } from '../../src/config.ts'
import { listenerKeyOf } from '../../src/endpoint/call.ts'
import type { OwnIssuer } from '../../src/keys/own-keys.ts'
import type { VerifyCaller } from '../../src/verify.ts'
import { createVerifyCaller } from '../../src/verify.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { makeIssuerKey } from '../setup/issuer.ts'

let gateway: A2aTestGateway
beforeEach(async () => {
  gateway = await openA2aGateway({ runsWorker: false })
})
afterEach(() => gateway.close())

const addresses = { domain: 'example.org', origin: 'https://gw.example.org' }

function open(auth: object, ownIssuer?: OwnIssuer, store = gateway.store): VerifyCaller {
  const config = a2aConfigSchema.parse({ auth })
  const { system } = gateway
  return createVerifyCaller(
    config,
    { system, store, agents: addresses },
    openChallenger(config, addresses.domain),
    ownIssuer,
  )
}

const visit = (headers: Record<string, string>) => ({
  headers: new Headers(headers),
  method: 'POST',
  url: 'http://127.0.0.1/a2a',
})

/** Describes the test's issuer under another name. */
const describeIssuer = (issuer: string, overrides: object = {}) => {
  const { jwks, audience } = gateway.issuer
  return { issuer, jwks, audience, ...overrides }
}

describe('a caller never gets the address of one of our agents', () => {
  test.each(['https://example.org', 'https://example.org:8443/realm', 'http://EXAMPLE.org/realm'])(
    'by an issuer %s at the agent’s own domain',
    async issuer => {
      const verifyCaller = open({ issuers: [describeIssuer(issuer)] })
      const authorization = `Bearer ${await gateway.issuer.sign({ iss: issuer, sub: 'echo' })}`
      const { address } = await verifyCaller(visit({ authorization }))
      expect(address).toMatch(/^@echo~[0-9a-f]{12}@example\.org$/)
    },
  )

  test('by an API key of the same name', async () => {
    const verifyCaller = open({ api_keys: [{ name: 'echo', sha256: hash('sha256', 'key') }] })
    const { address, owner } = await verifyCaller(visit({ 'x-api-key': 'key' }))
    expect(address).toMatch(/^@echo~[0-9a-f]{12}@example\.org$/)
    expect(owner).toBe('https://gw.example.org api_key echo')
  })
})

test('two trusted issuers of one host never give two people the same address', async () => {
  const [first, second, other] = ['https://id.test/one', 'https://id.test/two', 'https://alone.test']
  const verifyCaller = open({ issuers: [describeIssuer(first), describeIssuer(second), describeIssuer(other)] })
  const addressOf = async (iss: string) => {
    const authorization = `Bearer ${await gateway.issuer.sign({ iss, sub: 'bob' })}`
    return (await verifyCaller(visit({ authorization }))).address
  }
  const [one, two] = [await addressOf(first), await addressOf(second)]
  for (const address of [one, two]) expect(address).toMatch(/^@bob~[0-9a-f]{12}@id\.test$/)
  expect(one).not.toBe(two)
  expect(await addressOf(other)).toBe('@bob@alone.test')
})

test('owners of one name differ by issuer, kind of claim and kind of credential', async () => {
  const [first, second] = ['https://a.test', 'https://a.test/x']
  const verifyCaller = open({
    issuers: [describeIssuer(first), describeIssuer(second)],
    api_keys: [{ name: 'echo', sha256: hash('sha256', 'key') }],
  })
  const ownerOf = async (claims: object) => {
    const authorization = `Bearer ${await gateway.issuer.sign({ sub: undefined, ...claims })}`
    return (await verifyCaller(visit({ authorization }))).owner
  }
  const owners = [
    await ownerOf({ iss: first, sub: 'echo' }),
    await ownerOf({ iss: first, client_id: 'echo' }),
    await ownerOf({ iss: second, sub: 'echo' }),
    await ownerOf({ iss: first, sub: '/x sub echo' }),
    await ownerOf({ iss: first, sub: 'client_id echo' }),
    await ownerOf({ iss: first, sub: 'anonymous' }),
    (await verifyCaller(visit({ 'x-api-key': 'key' }))).owner,
  ]
  expect(new Set(owners).size).toBe(owners.length)
})

test('the gateway checks a token again if its key disappears during the check', async () => {
  const { kid, publicJwk, privateKey } = await makeIssuerKey('gone')
  const key = (await importJWK(publicJwk, 'ES256')) as CryptoKey
  let generation = 1
  let looked = 0
  const keys = {
    generation: () => generation,
    async find() {
      looked += 1
      void waitMicrotasks(50).then(() => {
        generation = 2
      })
      return key
    },
  }
  const config = a2aConfigSchema.parse({ auth: { issuers: [describeIssuer('https://own.test')] } }).auth.issuers[0]
  const verifyCaller = open({}, { config: config as OwnIssuer['config'], keys })
  const token = await gateway.issuer.sign({ iss: 'https://own.test' }, {}, { kid, publicJwk, privateKey })
  await verifyCaller(visit({ authorization: `Bearer ${token}` }))
  await verifyCaller(visit({ authorization: `Bearer ${token}` }))
  await verifyCaller(visit({ authorization: `Bearer ${token}` }))
  expect(looked).toBe(2)
})

/** Waits for a number of microtasks, which is shorter than the verification of any signature. */
async function waitMicrotasks(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await undefined
}

test('a bound single-use token survives a proof that the caller must repeat (A2A-A18)', async () => {
  const issuer = 'https://id.test'
  const verifyCaller = open({ issuers: [describeIssuer(issuer, { single_use: true })], dpop_nonce: true })
  const holder = await makeIssuerKey('holder')
  const jkt = await calculateJwkThumbprint(holder.publicJwk)
  const token = await gateway.issuer.sign({ iss: issuer, jti: 'once', cnf: { jkt } })
  const { kid: _kid, alg: _alg, use: _use, ...jwk } = holder.publicJwk
  const attempt = async (nonce?: string) => {
    const iat = Math.floor(gateway.system.now() / 1000)
    const ath = hash('sha256', token, 'base64url')
    const claims = { jti: `p-${nonce}-${Math.random()}`, htm: 'POST', htu: `${addresses.origin}/a2a`, iat, ath, nonce }
    const dpop = await new SignJWT(claims)
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
      .sign(holder.privateKey)
    return verifyCaller(visit({ authorization: `DPoP ${token}`, dpop }))
  }
  const refused = await Promise.resolve(attempt()).catch(error => error)
  const nonce = refused.headers['dpop-nonce']
  expect((await attempt(nonce)).subject).toBe('alice')
  await expect(attempt(nonce)).rejects.toThrow('it was used before')
})

describe('single use (A2A-A18)', () => {
  const issuer = 'https://id.test'
  const proveOnce = async () => {
    const holder = await makeIssuerKey('holder')
    const token = await gateway.issuer.sign({
      iss: issuer,
      jti: 'a',
      cnf: { jkt: await calculateJwkThumbprint(holder.publicJwk) },
    })
    const { kid: _kid, alg: _alg, use: _use, ...jwk } = holder.publicJwk
    const iat = Math.floor(gateway.system.now() / 1000)
    const claims = {
      jti: 'p',
      htm: 'POST',
      htu: `${addresses.origin}/a2a`,
      iat,
      ath: hash('sha256', token, 'base64url'),
    }
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk }
    const dpop = await new SignJWT(claims).setProtectedHeader(header).sign(holder.privateKey)
    return visit({ authorization: `DPoP ${token}`, dpop })
  }

  test('of a proof counts across all processes on the same data, and after a restart', async () => {
    const [first, second] = [open({ issuers: [describeIssuer(issuer)] }), open({ issuers: [describeIssuer(issuer)] })]
    const replayed = await proveOnce()
    expect((await first(replayed)).subject).toBe('alice')
    await expect(second(replayed)).rejects.toThrow('DPoP proof was used before')
  })

  test('of a token counts across all processes, also for simultaneous checks', async () => {
    const endpoints = [1, 2, 3].map(() => open({ issuers: [describeIssuer(issuer, { single_use: true })] }))
    const bearer = visit({ authorization: `Bearer ${await gateway.issuer.sign({ iss: issuer, jti: 'b' })}` })
    const entered = await Promise.allSettled(endpoints.map(async verifyCaller => verifyCaller(bearer)))
    expect(entered.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    await expect(endpoints[0]?.(bearer)).rejects.toMatchObject({
      code: 'replayed',
      message: 'Cannot verify token: it was used before',
    })
  })

  test('admits nobody and uses nothing up if the store takes no writes', async () => {
    let isFull = true
    const store: typeof gateway.store = {
      ...gateway.store,
      async consumeOnce(key: string, expiresAt: number) {
        if (isFull) throw new Unavailable('Cannot store: the database does not take writes now')
        return gateway.store.consumeOnce(key, expiresAt)
      },
    }
    const verifyCaller = open({ issuers: [describeIssuer(issuer, { single_use: true })] }, undefined, store)
    const bearer = visit({ authorization: `Bearer ${await gateway.issuer.sign({ iss: issuer, jti: 'c' })}` })
    await expect(verifyCaller(bearer)).rejects.toThrow(Unavailable)
    isFull = false
    expect((await verifyCaller(bearer)).subject).toBe('alice')
  })
})

test('anonymous callers share one limit of streams for all addresses of a network (A2A-S05)', () => {
  const keyOf = (from: string, isAnonymous = true) =>
    listenerKeyOf({ caller: { owner: 'o', isAnonymous }, from } as Parameters<typeof listenerKeyOf>[0])
  expect(keyOf('2001:db8::1')).toBe(keyOf('2001:db8::ffff:2'))
  expect(new Set([keyOf('2001:db8::1'), keyOf('2001:db8:0:1::1'), keyOf('192.0.2.1'), keyOf('192.0.2.2')]).size).toBe(4)
  expect(keyOf('192.0.2.1', false)).toBe(keyOf('192.0.2.2', false))
})
