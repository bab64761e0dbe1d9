import { createHash, createPrivateKey, generateKeyPair, hash } from 'node:crypto'
import { promisify } from 'node:util'
import type { ChannelContext, LookupStore, PublishedKey } from '@postern/core'
import { isoTime, parseJsonText } from '@postern/core'
import { matchesEtag } from '@postern/http'
import type { IssuerKeys } from '@postern/http/tokens'
import { loadJose } from '@postern/http/tokens'
import { Hono } from 'hono'
import type { TrustedIssuerConfig } from '../config.ts'

const generateInThreadpool = promisify(generateKeyPair)

/** The gateway's own A2A key. It signs its agents' cards and their tokens for calls. */
export type OwnKey = ReturnType<typeof toOwnKey>

/** How long a replaced key stays published: longer than any cache of cards or key sets. */
export const retiredKeyMs = 7 * 86_400_000

interface StoredKey {
  readonly made_at: string
  readonly jwk: Readonly<Record<'kty' | 'crv' | 'x' | 'y' | 'd', string>>
}

type RingDeps = {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly platform: Pick<ChannelContext['platform'], 'now'>
}

export type OwnKeyRing = ReturnType<typeof createOwnKeyRing>

/** Generations are only added, so every process of the gateway finds the newest one. */
export function createOwnKeyRing({ store, platform }: RingDeps) {
  const keys: OwnKey[] = []

  async function read(generation: number): Promise<OwnKey> {
    const make = async () => JSON.stringify(await makeStoredKey(platform.now()))
    return toOwnKey(parseJsonText(await store.secret(nameOf(generation), make)) as StoredKey)
  }

  async function list(): Promise<readonly OwnKey[]> {
    keys[0] ??= await read(1)
    // Another process may make one at the same time. Each uses its own count, so that no reader makes a key.
    for (let generation = keys.length + 1; await store.hasSecret(nameOf(generation)); generation += 1) {
      keys[generation - 1] ??= await read(generation)
    }
    return keys
  }

  const newest = (all: readonly OwnKey[]): OwnKey => all.at(-1) as OwnKey

  async function listCounting(): Promise<readonly OwnKey[]> {
    const all = await list()
    const successorMadeAt = (index: number) => all[index + 1]?.madeAt ?? Number.POSITIVE_INFINITY
    return all.filter((_, index) => successorMadeAt(index) + retiredKeyMs > platform.now()).reverse()
  }

  return {
    /** The present signing key. If there is none, it makes a durable one. */
    current: async () => newest(await list()),
    /** The keys that count: the present one first, then the recently replaced ones. */
    list: listCounting,
    /** Their public halves, to verify by. */
    published: async () => (await listCounting()).map(({ publicJwk }) => publicJwk),
    /** Makes a new signing key. */
    async rotate(): Promise<OwnKey> {
      const generation = (await list()).length + 1
      await read(generation)
      return newest(await list())
    },
  }
}

function nameOf(generation: number): string {
  return `a2a:signing-key-${generation}`
}

async function makeStoredKey(now: number): Promise<StoredKey> {
  const { privateKey } = await generateInThreadpool('ec', { namedCurve: 'P-256' })
  return { made_at: isoTime(now), jwk: privateKey.export({ format: 'jwk' }) as StoredKey['jwk'] }
}

function toOwnKey({ made_at, jwk }: StoredKey) {
  const { kty, crv, x, y } = jwk
  // RFC 7638 §3.2: the required members in the order of their names.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  return {
    kid,
    /** The published half (RFC 7517). */
    publicJwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' },
    privateKey: createPrivateKey({ key: { ...jwk }, format: 'jwk' }),
    /** ms */
    madeAt: Date.parse(made_at),
  }
}

/** The text of `postern keys`. */
export function describeKey({ publicJwk, madeAt }: OwnKey): PublishedKey {
  return {
    purpose: 'signs agent cards and our calls to other agents',
    id: publicJwk.kid,
    algorithm: publicJwk.alg,
    publicKey: JSON.stringify(publicJwk),
    madeAt: isoTime(madeAt),
  }
}

/** The path of the gateway's public keys, and the `jku` of its cards. */
export const ownKeySetPath = '/.well-known/jwks.json'

const cacheControl = 'public, max-age=300'

/** The keys that our cards and tokens verify by (RFC 7517 §5). */
export function createKeySetRoute(keys: OwnKeyRing): Hono {
  return new Hono().get(ownKeySetPath, async c => {
    const text = JSON.stringify({ keys: await keys.published() })
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
    const headers = { etag, 'cache-control': cacheControl, 'access-control-allow-origin': '*' }
    if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
  })
}

/** Our agents call each other like strangers: with tokens of this gateway for this gateway. */
export function createOwnIssuer(keys: OwnKeyRing, origin: string): OwnIssuer {
  return {
    config: {
      issuer: origin,
      jwks: origin + ownKeySetPath,
      audience: origin,
      algorithms: ['ES256'],
      require_at_jwt: false,
      require_scopes: true,
      require_dpop: false,
      single_use: false,
    },
    keys: {
      generation: () => 0,
      isConfigured: true,
      async find(header, token) {
        const { createLocalJWKSet } = await loadJose()
        return createLocalJWKSet({ keys: (await keys.published()).map(jwk => ({ ...jwk })) })(header, token)
      },
    },
  }
}

/** The gateway itself is an issuer without configuration. */
export interface OwnIssuer {
  readonly config: TrustedIssuerConfig
  readonly keys: IssuerKeys
}
