// Creates, rotates and publishes the keys by which the gateway signs cards and tokens.
import { createHash, createPrivateKey, generateKeyPair, hash } from 'node:crypto'
import { promisify } from 'node:util'
import { matchesEtag } from '@postern/http'
import type { IssuerKeys } from '@postern/http/tokens'
import { loadJose } from '@postern/http/tokens'
import { isoTime, parseJsonText } from '@postern/message'
import type { ChannelContext, LookupStore, PublishedKey, RotateOptions } from '@postern/pipeline'
import { Hono } from 'hono'
import type { TrustedIssuerConfig } from '../config.ts'

const generateInThreadpool = promisify(generateKeyPair)

/** The gateway's own A2A key. It signs its agents' cards and their tokens for calls. */
export type OwnKey = ReturnType<typeof toOwnKey>

/** The time for which a replaced key stays published, ms. It is longer than any peer caches cards or key sets. */
export const retiredKeyMs = 7 * 86_400_000

interface StoredKey {
  readonly made_at: string
  /** True if the key revokes all earlier keys. */
  readonly revokes?: true
  readonly jwk: Readonly<Record<'kty' | 'crv' | 'x' | 'y' | 'd', string>>
}

type RingDeps = {
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>
  readonly system: Pick<ChannelContext['system'], 'now'>
}

export type OwnKeyRing = ReturnType<typeof createOwnKeyRing>

/** Creates the access to the keys. Generations are only added, so every process of the gateway finds the newest key. */
export function createOwnKeyRing({ store, system }: RingDeps) {
  const keys: OwnKey[] = []

  async function readKey(generation: number, storedKey?: StoredKey): Promise<OwnKey> {
    const chooseStoredKey = async () => storedKey ?? createStoredKey(system.now())
    const text = await store.readOrCreateSecret(secretNameOf(generation), async () =>
      JSON.stringify(await chooseStoredKey()),
    )
    return toOwnKey(parseJsonText(text) as StoredKey)
  }

  async function list(): Promise<readonly OwnKey[]> {
    keys[0] ??= await readKey(1)
    // Another process may create a key at the same time. Each process counts the generations itself, so that a reader never creates a key.
    for (let generation = keys.length + 1; await store.hasSecret(secretNameOf(generation)); generation += 1) {
      keys[generation - 1] ??= await readKey(generation)
    }
    return keys
  }

  const newestOf = (keys: readonly OwnKey[]): OwnKey => keys.at(-1) as OwnKey

  async function listValid(): Promise<readonly OwnKey[]> {
    const keys = await list()
    const successorMadeAt = (index: number) => keys[index + 1]?.madeAt ?? Number.POSITIVE_INFINITY
    const oldestIndex = keys.findLastIndex(({ isRevoking }, index) => isRevoking || index === 0)
    return keys
      .filter((_, index) => index >= oldestIndex && successorMadeAt(index) + retiredKeyMs > system.now())
      .reverse()
  }

  return {
    /** Returns the current signing key. If there is none, it creates and stores one. */
    findCurrent: async () => newestOf(await list()),
    /** Lists the valid keys, the current key first and then the recently replaced keys. */
    list: listValid,
    /** Lists the public halves of the valid keys, for verification. */
    listPublished: async () => (await listValid()).map(({ publicJwk }) => publicJwk),
    /** Creates a new signing key. With `isRevoking`, it revokes all earlier keys. */
    async rotate({ isRevoking }: RotateOptions = {}): Promise<OwnKey> {
      const newKey = { ...(await createStoredKey(system.now())), ...(isRevoking && { revokes: true as const }) }
      const { kid } = toOwnKey(newKey)
      // Another process may rotate at the same time. In that case, this key becomes the generation after its key.
      for (;;) {
        const key = await readKey((await list()).length + 1, newKey)
        if (key.kid === kid) return newestOf(await list())
      }
    },
  }
}

function secretNameOf(generation: number): string {
  return `a2a:signing-key-${generation}`
}

async function createStoredKey(now: number): Promise<StoredKey> {
  const { privateKey } = await generateInThreadpool('ec', { namedCurve: 'P-256' })
  return { made_at: isoTime(now), jwk: privateKey.export({ format: 'jwk' }) as StoredKey['jwk'] }
}

function toOwnKey({ made_at, revokes, jwk }: StoredKey) {
  const { kty, crv, x, y } = jwk
  // The thumbprint has the required members in the order of their names (RFC 7638 §3.2).
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  return {
    kid,
    /** The published half (RFC 7517). */
    publicJwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' },
    privateKey: createPrivateKey({ key: { ...jwk }, format: 'jwk' }),
    /** The time of creation, in ms since the epoch. */
    madeAt: Date.parse(made_at),
    isRevoking: revokes === true,
  }
}

/** Describes a key for `postern keys`. */
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

/** Creates the route of the keys that verify our cards and tokens (RFC 7517 §5). */
export function createKeySetRoute(keys: OwnKeyRing): Hono {
  return new Hono().get(ownKeySetPath, async c => {
    const text = JSON.stringify({ keys: await keys.listPublished() })
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
    const headers = { etag, 'cache-control': cacheControl, 'access-control-allow-origin': '*' }
    if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
  })
}

/** Creates the issuer for the tokens of this gateway. Its agents call each other with such tokens, like agents of other gateways. */
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
        return createLocalJWKSet({ keys: (await keys.listPublished()).map(jwk => ({ ...jwk })) })(header, token)
      },
    },
  }
}

/** The gateway as an issuer that needs no configuration. */
export interface OwnIssuer {
  readonly config: TrustedIssuerConfig
  readonly keys: IssuerKeys
}
