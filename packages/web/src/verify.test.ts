import { createHmac } from 'node:crypto'
import { issuerKeyTimes } from '@postern/http/tokens'
import { ConfigError, Unavailable } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import { createFixedSecrets } from '@postern/testing'
import type { CryptoKey, JWK } from 'jose'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { webConfigSchema } from './config.ts'
import { createVerifyOwner } from './verify.ts'

const issuer = 'https://id.example'
const start = Date.parse('2026-03-13T10:00:00Z')
const secret = 'a secret that two gateways share, long'
let key: CryptoKey
let jwk: JWK
let spki: string

beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true })
  key = pair.privateKey
  jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1' }
  spki = await exportSPKI(pair.publicKey)
})

function openEndpoint({
  keys = [jwk],
  issuers = [{ issuer, audience: 'us', jwks: `${issuer}/jwks.json` }] as object[],
} = {}) {
  const quota = { now: start, asked: 0, status: 200, keys: keys as unknown }
  const system = {
    now: () => quota.now,
    log: { warn: () => undefined },
    fetch: async () => {
      quota.asked += 1
      await new Promise(resolve => setImmediate(resolve))
      return { status: quota.status, body: Buffer.from(JSON.stringify({ keys: quota.keys })) }
    },
  } as unknown as ChannelContext['system']
  const agents = { origin: 'https://agents.test', domain: 'agents.test' } as ChannelContext['agents']
  const config = webConfigSchema.parse({ enabled: true, auth: { issuers } })
  const store = { consumeOnce: async () => true, ...createFixedSecrets('secret') } as unknown as ChannelContext['store']
  const read = createVerifyOwner(config, { system, agents, store })
  const visitWith = (token: string) =>
    new Request('http://here/v1/usage', { headers: { authorization: `Bearer ${token}` } })
  return { quota, enter: (token: string) => read(visitWith(token)) }
}

interface TokenDraft {
  readonly claims?: object
  readonly header?: object
  readonly by?: CryptoKey | Uint8Array
}

function signToken({ claims = {}, header = {}, by = key }: TokenDraft = {}): Promise<string> {
  const seconds = start / 1000
  const all = { iss: issuer, aud: 'us', sub: 'ann', exp: seconds + 60, ...claims }
  return new SignJWT(JSON.parse(JSON.stringify(all)))
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header })
    .sign(by)
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('createOwnerReader()', () => {
  it('accepts a token with a trusted issuer’s signature', async () => {
    const owner = await openEndpoint().enter(await signToken())
    expect(owner).toMatchObject({ owner: 'web:["https://id.example","ann"]', subject: 'ann', issuer })
  })

  it.each<[string, TokenDraft]>([
    ['without an end', { claims: { exp: undefined } }],
    ['for somebody else', { claims: { aud: 'them' } }],
    ['without an audience', { claims: { aud: undefined } }],
    ['that counts later', { claims: { nbf: start / 1000 + 600 } }],
    ['without a subject', { claims: { sub: undefined } }],
    ['whose subject is null', { claims: { sub: null } }],
    ['whose subject is a list', { claims: { sub: ['ann'] } }],
    ['whose subject is an object', { claims: { sub: {} } }],
    ['whose subject is empty', { claims: { sub: '' } }],
    ['whose subject is very long', { claims: { sub: 'a'.repeat(513) } }],
    ['whose issuer is a list', { claims: { iss: [issuer] } }],
    ['with a critical header', { header: { crit: ['exp'], exp: 1 } }],
  ])('refuses a token %s', async (_, minting) => {
    const token = await signToken(minting).catch(() => encode({ alg: 'ES256' }))
    await expect(openEndpoint().enter(token)).rejects.toMatchObject({ code: 'signature_invalid' })
  })

  it('reports an outdated token as expired', async () => {
    const token = await signToken({ claims: { exp: start / 1000 - 31 } })
    await expect(openEndpoint().enter(token)).rejects.toMatchObject({ code: 'expired' })
  })

  it('refuses a token without a signature, or with the public key as a secret', async () => {
    const claims = encode({ iss: issuer, aud: 'us', sub: 'ann', exp: start / 1000 + 60 })
    const head = encode({ alg: 'HS256', kid: 'k1' })
    for (const confused of [spki, JSON.stringify(jwk), jwk.x ?? '']) {
      const mac = createHmac('sha256', confused).update(`${head}.${claims}`).digest('base64url')
      await expect(openEndpoint().enter(`${head}.${claims}.${mac}`)).rejects.toMatchObject({
        code: 'signature_invalid',
      })
    }
    const none = `${encode({ alg: 'none' })}.${claims}.`
    await expect(openEndpoint().enter(none)).rejects.toMatchObject({ code: 'signature_invalid' })
  })

  it('refuses published secrets as keys, also in the configuration', async () => {
    const shared = Buffer.from(secret)
    const endpoint = openEndpoint({ keys: [{ kty: 'oct', k: shared.toString('base64url'), kid: 'k1', alg: 'HS256' }] })
    const token = await signToken({ header: { alg: 'HS256' }, by: shared })
    await expect(endpoint.enter(token)).rejects.toMatchObject({ code: 'signature_invalid' })
    const parse = (issuerConfig: object) => webConfigSchema.safeParse({ auth: { issuers: [issuerConfig] } }).success
    const common = { issuer, audience: 'us' }
    expect(parse({ ...common, jwks: 'https://id.example/j', algorithms: ['HS256'] })).toBe(false)
    expect(parse({ ...common, secret, algorithms: ['ES256'] })).toBe(false)
    expect(parse({ ...common, secret, algorithms: ['HS256'] })).toBe(true)
  })

  it('ignores a key inside a token, and a key URL that it names', async () => {
    const evil = await generateKeyPair('ES256', { extractable: true })
    const own = await exportJWK(evil.publicKey)
    for (const header of [{ jwk: own }, { jku: 'https://evil.example/jwks' }, { x5u: 'https://evil.example/' }]) {
      const token = await signToken({ header, by: evil.privateKey })
      await expect(openEndpoint().enter(token)).rejects.toMatchObject({ code: 'signature_invalid' })
    }
  })

  it('fetches keys again for an unknown key id, at most every 30 seconds', async () => {
    const { quota, enter } = openEndpoint()
    await enter(await signToken())
    expect(quota.asked).toBe(1)
    const other = await generateKeyPair('ES256', { extractable: true })
    const token = await signToken({ header: { kid: 'k2' }, by: other.privateKey })
    for (let i = 0; i < 20; i++) await expect(enter(token)).rejects.toMatchObject({ code: 'signature_invalid' })
    expect(quota.asked).toBe(1)
    quota.now += issuerKeyTimes.cooldownMs
    quota.keys = [jwk, { ...(await exportJWK(other.publicKey)), kid: 'k2' }]
    await enter(token)
    expect(quota.asked).toBe(2)
  })

  it('needs one request for many simultaneous tokens, and pauses requests after a failure', async () => {
    const { quota, enter } = openEndpoint()
    quota.status = 500
    const token = await signToken()
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => enter(token)))
    expect(answers.every(each => each.status === 'rejected' && each.reason instanceof Unavailable)).toBe(true)
    expect(quota.asked).toBe(1)
    await expect(enter(token)).rejects.toThrow('Cannot verify token: keys of its issuer cannot be fetched')
    expect(quota.asked).toBe(1)
    quota.status = 200
    quota.now += issuerKeyTimes.pauseMs
    await enter(token)
    expect(quota.asked).toBe(2)
  })

  it('keeps the last keys valid for an hour while their issuer does not answer', async () => {
    const { quota, enter } = openEndpoint()
    await enter(await signToken())
    quota.keys = 'nonsense'
    quota.now += issuerKeyTimes.maxAgeMs
    await enter(await signToken({ claims: { exp: start / 1000 + 9_000 } }))
    quota.now = start + issuerKeyTimes.staleLimitMs
    await expect(enter(await signToken({ claims: { exp: start / 1000 + 9_000 } }))).rejects.toThrow(Unavailable)
  })

  it('gives people of two issuers different addresses, which nobody can take over', async () => {
    const issuers = [
      { issuer, audience: 'us', secret },
      { issuer: 'https://other.example', audience: 'us', secret },
    ]
    const { enter } = openEndpoint({ issuers })
    const addressOf = async (iss: string, sub: string) =>
      (await enter(await signToken({ claims: { iss, sub }, header: { alg: 'HS256' }, by: Buffer.from(secret) })))
        .address
    const [ann, otherAnn] = [await addressOf(issuer, 'ann'), await addressOf('https://other.example', 'ann')]
    expect(ann).toMatch(/^@ann@i[0-9a-f]{10}\.web\.agents\.test$/)
    expect(otherAnn).not.toBe(ann)
    const made = await addressOf(issuer, 'Ann Smith')
    expect(await addressOf(issuer, made.slice(1).split('@')[0] ?? '')).not.toBe(made)
  })
})

describe('the configured issuers', () => {
  it('exclude our own origin, whose subjects could take the names of configured tokens', () => {
    const problem = 'is the origin of the gateway itself, under which it knows the names of web.auth.tokens'
    const fix = 'Let the issuer have a name of its own.'
    const refusal = new ConfigError('web.auth.issuers.0.issuer', problem, fix)
    const own = { issuer: 'https://agents.test', audience: 'us', secret }
    expect(() => openEndpoint({ issuers: [own] })).toThrow(refusal)
  })

  it('appear only once each', () => {
    const issuers = [
      { issuer, audience: 'us', secret },
      { issuer, audience: 'them', secret },
    ]
    const { error } = webConfigSchema.safeParse({ enabled: true, auth: { issuers } })
    expect(error?.issues).toMatchObject([
      {
        path: ['auth', 'issuers', 1, 'issuer'],
        message: 'is listed twice: only one of two entries for an issuer would count',
      },
    ])
  })
})

it('a token for a client or without a subject cannot open a chat', async () => {
  const { enter } = openEndpoint()
  expect(await enter(await signToken())).toMatchObject({ subject: 'ann' })
  for (const [claims, problem] of [
    [{ sub: undefined, client_id: 'bot' }, 'Cannot verify token: its subject is no name'],
    [{ sub: undefined }, 'it names no principal'],
  ] as const)
    await expect(enter(await signToken({ claims }))).rejects.toThrow(problem)
})
