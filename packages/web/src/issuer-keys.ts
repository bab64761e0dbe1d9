import type { House } from '@postern/core'
import { Unavailable } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet, errors } from 'jose'
import type { WebIssuer } from './config.ts'

/** Times in ms. */
export const keyTimes = {
  /** Keys are read anew after this long. */
  maxAge: 5 * 60_000,
  /** An unknown key makes us ask again, but not more often than this. */
  cooldown: 30_000,
  /** After a failed try nobody asks for this long. */
  pause: 5_000,
  /** While the issuer does not answer, the last keys count for this long. */
  staleLimit: 60 * 60_000,
} as const

const request = { timeoutMs: 5_000, maxBytes: 256 * 1024, redirects: 0 }

interface LoadedKeys {
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly at: number
}

/** By a shared secret, or by the configured address of its keys; what a token says of keys is never looked at. @throws Unavailable */
export function createKeyFinder({ jwks, secret }: WebIssuer, world: House['world']): JWTVerifyGetKey {
  if (secret !== undefined || jwks === undefined) {
    const key = Buffer.from(secret ?? '')
    return async () => key
  }
  return createRemoteKeys(jwks, world)
}

function createRemoteKeys(url: string, { fetch, now, log }: House['world']): JWTVerifyGetKey {
  let loaded: LoadedKeys | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  let pending: Promise<void> | undefined

  const age = () => (loaded ? now() - loaded.at : Number.POSITIVE_INFINITY)
  const isPausing = () => now() - failedAt < keyTimes.pause

  async function load(): Promise<void> {
    try {
      loaded = { find: createLocalJWKSet(await readKeys(url, fetch)), at: now() }
      failedAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      failedAt = now()
      log.warn({ url, err: error }, 'keys of an issuer could not be read')
    }
  }

  /** One question at a time, however many wait for its answer. */
  async function refresh(): Promise<void> {
    if (isPausing()) return
    pending ??= load().finally(() => {
      pending = undefined
    })
    await pending
  }

  async function currentKeys(): Promise<LoadedKeys> {
    if (age() >= keyTimes.maxAge) await refresh()
    if (!loaded || age() >= keyTimes.staleLimit) throw unavailable()
    return loaded
  }

  return async (header, token) => {
    try {
      return await (await currentKeys()).find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || age() < keyTimes.cooldown) throw error
      await refresh()
      return (await currentKeys()).find(header, token)
    }
  }
}

function unavailable(): Unavailable {
  return new Unavailable('Cannot verify token: keys of its issuer cannot be had', {
    retryAfter: keyTimes.pause / 1000,
  })
}

/** Public keys alone: a secret that is published is none. */
async function readKeys(url: string, fetch: House['world']['fetch']): Promise<JSONWebKeySet> {
  const { status, body } = await fetch(url, request)
  if (status !== 200) throw new Unavailable(`Cannot read keys: issuer answered ${status}`)
  const document = parseBoundedJson(body, { maxDepth: 8, what: 'keys' }) as Partial<JSONWebKeySet> | null
  if (!Array.isArray(document?.keys)) throw new Unavailable('Cannot read keys: not a key set')
  return { keys: document.keys.filter(key => key !== null && typeof key === 'object' && key.kty !== 'oct') }
}
