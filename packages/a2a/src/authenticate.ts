import { hash } from 'node:crypto'
import type { World } from '@postern/core'
import { Rejection } from '@postern/core'
import type { A2aConfig, IssuerConfig } from './config.ts'
import { createIssuerKeys } from './jwks.ts'
import type { Caller } from './principal.ts'
import { addressOf, ownerOf } from './principal.ts'
import type { TokenRules, TrustedIssuer, VerifiedToken } from './token.ts'
import { verifyToken } from './token.ts'

/**
 * Who calls, from the Authorization header alone.
 * @throws Rejection `unsigned` without credential, `signature_invalid` or `expired` with a bad one; Unavailable
 */
export type Authenticate = (authorization: string | null) => Promise<Caller> | Caller

const maxHeader = 8 * 1024
/** Two headers reach us joined by a comma, which no token holds. */
const bearer = /^bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i

const cacheLimits = { entries: 10_000, lifeMs: 5 * 60_000 } as const

interface CachedCaller {
  readonly caller: Caller
  /** ms */
  readonly until: number
  isCurrent(): boolean
}

export type AuthWorld = Pick<World, 'fetch' | 'now' | 'log'>

/**
 * A token that was verified counts, by its SHA-256, until it expires, its issuer's keys are read anew, or five minutes
 * have gone, whichever is first: a key taken out at the issuer is thus refused within `keyTimes.maxAge`.
 */
export function createAuthenticate({ auth }: A2aConfig, world: AuthWorld, domain: string): Authenticate {
  const rules: TokenRules = {
    issuers: new Map(auth.issuers.map(config => [config.issuer, trustIssuer(config, auth.issuers, world)])),
    toleranceSeconds: auth.clock_tolerance_seconds,
    now: () => world.now(),
  }
  const cache = createTokenCache(() => world.now())
  const anonymous = auth.anonymous ? nobodyAt(domain) : undefined

  async function verifyAnew(token: string, key: string): Promise<Caller> {
    const verified = await verifyToken(token, rules)
    const caller = toCaller(verified)
    const { keys } = verified.issuer
    const generation = keys.generation()
    cache.put(key, verified.expiresAt, { caller, isCurrent: () => keys.generation() === generation })
    return caller
  }

  return function authenticate(authorization) {
    if (authorization === null) {
      if (anonymous) return anonymous
      throw new Rejection('unsigned', 'Cannot take request: credentials are missing')
    }
    const token = readBearerToken(authorization)
    const key = hash('sha256', token)
    return cache.find(key) ?? verifyAnew(token, key)
  }
}

function trustIssuer(config: IssuerConfig, all: readonly IssuerConfig[], world: AuthWorld): TrustedIssuer {
  const host = hostOf(config)
  const isHostShared = all.some(other => other !== config && hostOf(other) === host)
  return { config, keys: createIssuerKeys(config.jwks, world), isHostShared }
}

function hostOf({ issuer }: IssuerConfig): string {
  return new URL(issuer).hostname
}

/** RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1). */
function readBearerToken(authorization: string): string {
  const token = authorization.length <= maxHeader ? bearer.exec(authorization)?.[1] : undefined
  if (!token) throw new Rejection('signature_invalid', 'Cannot take request: expected one Bearer token')
  return token
}

interface TokenCache {
  find(key: string): Caller | undefined
  put(key: string, expiresAt: number, entry: Omit<CachedCaller, 'until'>): void
}

/** A map keeps the order of insertion: what is found is put back as the youngest, what is oldest goes first. */
function createTokenCache(now: () => number): TokenCache {
  const entries = new Map<string, CachedCaller>()
  return {
    find(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entries.delete(key)
      if (now() >= entry.until || !entry.isCurrent()) return undefined
      entries.set(key, entry)
      return entry.caller
    },
    put(key, expiresAt, entry) {
      entries.set(key, { ...entry, until: Math.min(expiresAt, now() + cacheLimits.lifeMs) })
      const [oldest] = entries.size > cacheLimits.entries ? entries.keys() : []
      if (oldest !== undefined) entries.delete(oldest)
    },
  }
}

function toCaller({ principal, issuer: trusted, algorithm, keyId, isAccessToken }: VerifiedToken): Caller {
  const { issuer, value: subject } = principal
  return brand({
    owner: ownerOf(principal),
    isAnonymous: false,
    address: addressOf(principal, trusted),
    authMethod: isAccessToken ? 'a2a-oauth' : 'a2a-jwt',
    subject,
    issuer,
    keyId,
    proof: { kind: 'jwt', verdict: 'pass', key_id: keyId, algorithm, issuer, subject },
  })
}

function nobodyAt(domain: string): Caller {
  return brand({
    owner: 'anonymous',
    isAnonymous: true,
    address: `@anonymous@${domain}`,
    authMethod: 'none',
    subject: '',
    issuer: '',
    proof: { kind: 'jwt', verdict: 'none', reason: 'no credential, and anonymous callers are let in' },
  })
}

function brand(
  caller: Omit<Caller, keyof { [Key in keyof Caller as Key extends symbol ? Key : never]: never }>,
): Caller {
  return caller as Caller
}
