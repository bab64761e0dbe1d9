// Fetches and caches the public keys of token issuers.
import { createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { isJsonObject, Unavailable } from '@postern/message'
import type { CryptoKey, FlattenedJWSInput, JWTHeaderParameters, LocalJWKSet } from 'jose'
import { parseBoundedJson } from '../request/bounded-json.ts'
import { loadJose } from './load-jose.ts'

/** The times of the key cache, ms. While the issuer answers, a removed key is refused after `maxAgeMs` at the latest. */
export const issuerKeyTimes = {
  /** The age from which the keys are fetched again. */
  maxAgeMs: 5 * 60_000,
  /** The minimum time between two fetches that an unknown `kid` causes. */
  cooldownMs: 30_000,
  /** The pause of requests after a failure. */
  pauseMs: 5_000,
  /** The time for which the last keys stay valid while the issuer does not answer. */
  staleLimitMs: 60 * 60_000,
} as const

const keyRequest = { timeoutMs: 5_000, maxBytes: 256 * 1024, redirects: 0, headers: { accept: 'application/json' } }

/** The public keys of one issuer. There is one object for each issuer and process. */
export interface IssuerKeys {
  /**
   * Finds the key for a token's header.
   * @throws Unavailable; jose's `JWKSNoMatchingKey` if there is none
   */
  find(header: JWTHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey | Uint8Array>
  /** Returns a number that changes with each fetch of the keys. A token that was verified under an older number must be verified again. */
  generation(): number
  /** True if the keys are not fetched, because they are our own or the configuration contains them. */
  readonly isConfigured?: true
}

type KeySystem = Pick<System, 'fetch' | 'now' | 'log'>

interface LoadedKeys {
  readonly keys: LocalJWKSet
  readonly loadedAt: number
}

/** Creates the keys of an issuer, which are fetched from the configured address only (RFC 7517 §5). `jku`, `x5u` and `jwk` of a token are ignored. */
export function createIssuerKeys(url: string, { fetch, now, log }: KeySystem): IssuerKeys {
  let loadedKeys: LoadedKeys | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  let generation = 0
  const shareFetch = createSingleFlight<void>()

  const ageMs = () => (loadedKeys ? now() - loadedKeys.loadedAt : Number.POSITIVE_INFINITY)
  const isPausing = () => now() - failedAt < issuerKeyTimes.pauseMs

  async function load(): Promise<void> {
    try {
      const response = await fetch(url, keyRequest)
      loadedKeys = { keys: await readKeySet(response.status, response.body), loadedAt: now() }
      generation += 1
      failedAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      failedAt = now()
      log.warn({ url, err: error }, 'keys of an issuer could not be read')
    }
  }

  async function readCurrentKeys(): Promise<LoadedKeys> {
    if (ageMs() >= issuerKeyTimes.maxAgeMs && !isPausing()) await shareFetch('', load)
    if (!loadedKeys || ageMs() >= issuerKeyTimes.staleLimitMs) throw createUnavailable()
    return loadedKeys
  }

  return {
    generation: () => (ageMs() < issuerKeyTimes.maxAgeMs ? generation : Number.NaN),
    async find(header, token) {
      const { errors } = await loadJose()
      const { keys } = await readCurrentKeys()
      try {
        return await keys(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || ageMs() < issuerKeyTimes.cooldownMs) throw error
        if (!isPausing()) await shareFetch('', load)
        if (isPausing()) throw createUnavailable(error)
        return (await readCurrentKeys()).keys(header, token)
      }
    },
  }
}

/** Creates the key of an issuer that shares a secret with us (HS256). */
export function createSecretKeys(secret: string): IssuerKeys {
  const key = Buffer.from(secret)
  return { find: async () => key, generation: () => 0, isConfigured: true }
}

function createUnavailable(cause?: unknown): Unavailable {
  return new Unavailable('Cannot verify token: keys of its issuer cannot be fetched', {
    retryAfter: issuerKeyTimes.pauseMs / 1000,
    cause,
  })
}

async function readKeySet(status: number, body: Uint8Array): Promise<LocalJWKSet> {
  if (status !== 200) throw new Unavailable(`Cannot read keys: issuer answered ${status}`)
  const document = parseBoundedJson(body, { maxDepth: 8, label: 'keys' })
  if (!isJsonObject(document) || !Array.isArray(document.keys)) throw new Unavailable('Cannot read keys: not a key set')
  const { createLocalJWKSet } = await loadJose()
  return createLocalJWKSet({ keys: document.keys.filter(key => isJsonObject(key) && key.kty !== 'oct') })
}
