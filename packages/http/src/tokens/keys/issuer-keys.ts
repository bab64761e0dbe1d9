import type { Platform } from '@postern/core'
import { isJsonObject, Unavailable } from '@postern/core'
import type { CryptoKey, FlattenedJWSInput, JWTHeaderParameters, LocalJWKSet } from 'jose'
import { parseBoundedJson } from '../../bytes/bounded-json.ts'
import { loadJose } from '../jose.ts'

/** Times in ms. While the issuer answers, a key that it removed is refused after `maxAge` at the latest. */
export const issuerKeyTimes = {
  /** Fetches the keys again after this long. */
  maxAge: 5 * 60_000,
  /** An unknown `kid` causes a new fetch, but not more often than this. */
  cooldown: 30_000,
  /** After a failure there is no request for this long. */
  pause: 5_000,
  /** While the issuer does not answer, the last keys stay valid for this long. */
  staleLimit: 60 * 60_000,
} as const

const request = { timeoutMs: 5_000, maxBytes: 256 * 1024, redirects: 0, headers: { accept: 'application/json' } }

/** The public keys of one issuer; one object for each process. */
export interface IssuerKeys {
  /** The key for a token's header. @throws Unavailable; jose's `JWKSNoMatchingKey` when there is none */
  find(header: JWTHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey | Uint8Array>
  /** Changes with each fetch of the keys. A token verified under an older number must be verified again. */
  generation(): number
  /** They are not fetched: the configuration has them, or we ourselves. */
  readonly isConfigured?: true
}

type KeyPlatform = Pick<Platform, 'fetch' | 'now' | 'log'>

interface LoadedKeys {
  readonly keys: LocalJWKSet
  readonly at: number
}

/** Fetches keys from the configured address only (RFC 7517 §5). It ignores `jku`, `x5u` and `jwk` of a token. */
export function createIssuerKeys(url: string, { fetch, now, log }: KeyPlatform): IssuerKeys {
  let loaded: LoadedKeys | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  let generation = 0
  let pending: Promise<void> | undefined

  const age = () => (loaded ? now() - loaded.at : Number.POSITIVE_INFINITY)
  const isPausing = () => now() - failedAt < issuerKeyTimes.pause

  async function load(): Promise<void> {
    try {
      const answer = await fetch(url, request)
      loaded = { keys: await readKeySet(answer.status, answer.body), at: now() }
      generation += 1
      failedAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      failedAt = now()
      log.warn({ url, err: error }, 'keys of an issuer could not be read')
    }
  }

  function refresh(): Promise<void> {
    pending ??= load().finally(() => {
      pending = undefined
    })
    return pending
  }

  async function currentKeys(): Promise<LoadedKeys> {
    if (age() >= issuerKeyTimes.maxAge && !isPausing()) await refresh()
    if (!loaded || age() >= issuerKeyTimes.staleLimit) throw unavailable()
    return loaded
  }

  return {
    generation: () => (age() < issuerKeyTimes.maxAge ? generation : Number.NaN),
    async find(header, token) {
      const { errors } = await loadJose()
      const current = await currentKeys()
      try {
        return await current.keys(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || age() < issuerKeyTimes.cooldown) throw error
        if (!isPausing()) await refresh()
        if (isPausing()) throw unavailable(error)
        return (await currentKeys()).keys(header, token)
      }
    },
  }
}

/** The key of an issuer that shares a secret with us (HS256). */
export function createSecretKeys(secret: string): IssuerKeys {
  const key = Buffer.from(secret)
  return { find: async () => key, generation: () => 0, isConfigured: true }
}

function unavailable(cause?: unknown): Unavailable {
  return new Unavailable('Cannot verify token: keys of its issuer cannot be had', {
    retryAfter: issuerKeyTimes.pause / 1000,
    cause,
  })
}

async function readKeySet(status: number, body: Uint8Array): Promise<LocalJWKSet> {
  if (status !== 200) throw new Unavailable(`Cannot read keys: issuer answered ${status}`)
  const document = parseBoundedJson(body, { maxDepth: 8, what: 'keys' })
  if (!isJsonObject(document) || !Array.isArray(document.keys)) throw new Unavailable('Cannot read keys: not a key set')
  const { createLocalJWKSet } = await loadJose()
  return createLocalJWKSet({ keys: document.keys.filter(key => isJsonObject(key) && key.kty !== 'oct') })
}
