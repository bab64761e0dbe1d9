import { hash } from 'node:crypto'
import type { House } from '@postern/core'
import { Rejection } from '@postern/core'
import { createApiKeyCheck } from './auth/api-keys.ts'
import type { KnownToken } from './auth/caller-cache.ts'
import { createTokenCache } from './auth/caller-cache.ts'
import type { AuthScheme, Challenger } from './auth/challenge.ts'
import type { Credential } from './auth/credential.ts'
import { ProofRejection, readCredential } from './auth/credential.ts'
import type { ProofRules } from './auth/dpop.ts'
import { verifyProof } from './auth/dpop.ts'
import { createDpopNonces } from './auth/dpop-nonces.ts'
import type { SingleUses } from './auth/replay-memory.ts'
import { createSingleUses } from './auth/replay-memory.ts'
import { readGrant, readScopeTable } from './auth/scopes.ts'
import type { A2aConfig, IssuerConfig } from './config.ts'
import type { IssuerKeys } from './jwks.ts'
import { createIssuerKeys } from './jwks.ts'
import type { Caller } from './principal.ts'
import { apiKeyCaller, nobodyAt, ownerOf, tokenCaller } from './principal.ts'
import type { TokenRules, TrustedIssuer, VerifiedToken } from './token.ts'
import { verifyToken } from './token.ts'

/** What of a request tells who sends it. */
export type Visit = Pick<Request, 'headers' | 'method' | 'url'>

/**
 * Who calls, from the headers alone; the method and the path are only held against a DPoP proof.
 * @throws CredentialRejection `unsigned` without credential, `signature_invalid` or `expired` with a bad one; Unavailable
 */
export type Authenticate = (visit: Visit) => Promise<Caller> | Caller

export type AuthHouse = Pick<House, 'world' | 'desk'> & { readonly agents: Pick<House['agents'], 'domain' | 'origin'> }

interface FreshToken extends KnownToken {
  /** Where it counts once. @throws Rejection, Unavailable */
  readonly useUp?: (() => Promise<void>) | undefined
}

/** An issuer that need not be configured: the house itself. */
export interface OwnIssuer {
  readonly config: IssuerConfig
  readonly keys: IssuerKeys
}

/**
 * A token that was verified counts, by its SHA-256, until it expires, its issuer's keys are read anew, or five minutes
 * have gone, whichever is first: a key taken out at the issuer is thus refused within `keyTimes.maxAge`. A proof of
 * possession is verified with every request.
 */
export function createAuthenticate(
  config: A2aConfig,
  house: AuthHouse,
  challenger: Challenger,
  own?: OwnIssuer,
): Authenticate {
  const { auth } = config
  const { world, agents } = house
  const now = () => world.now()
  const seen = createSingleUses(house.desk, now)
  const scopes = readScopeTable(config)
  const findApiKey = createApiKeyCheck(auth.api_keys)
  const apiKeyHeader = auth.api_keys.length > 0 ? auth.api_key_header : undefined
  const anonymous = auth.anonymous ? nobodyAt(agents.domain) : undefined
  const cache = createTokenCache(now)
  const tokenRules: TokenRules = {
    issuers: trustIssuers(auth.issuers, house, own),
    toleranceSeconds: auth.clock_tolerance_seconds,
    now,
  }
  const proofRules: ProofRules = {
    toleranceSeconds: auth.clock_tolerance_seconds,
    seen,
    nonces: auth.dpop_nonce ? createDpopNonces(house) : undefined,
    now,
  }

  function admitNobody(): Caller {
    if (anonymous) return anonymous
    throw new Rejection('unsigned', 'Cannot take request: credentials are missing')
  }

  function admitKey(key: string): Caller {
    return apiKeyCaller(findApiKey(key), { table: scopes, ...agents })
  }

  async function verifyAnew(token: string, digest: string): Promise<FreshToken> {
    const verified = await verifyToken(token, tokenRules)
    const { keys, config: issuer } = verified.issuer
    const caller = tokenCaller(
      verified,
      readGrant(verified.scope, { isRequired: issuer.require_scopes, table: scopes }),
    )
    const { generation, boundTo } = verified
    const known = {
      caller,
      boundTo,
      isCurrent: () => keys.generation() === generation,
      ...(issuer.single_use && { useUp: () => takeOnce(verified, seen, now()) }),
    }
    if (issuer.require_dpop && verified.boundTo === undefined) throw new ProofRejection('token is not bound to a key')
    if (!issuer.single_use) cache.put(digest, verified.expiresAt, known)
    return known
  }

  async function admitBound(known: KnownToken, token: string, proof: string, visit: Visit): Promise<Caller> {
    const { boundTo, caller } = known
    if (boundTo === undefined) throw new ProofRejection('token is not bound to a key, so a proof says nothing')
    const url = agents.origin + new URL(visit.url).pathname
    await verifyProof(proof, { token, boundTo, owner: caller.owner, method: visit.method, url }, proofRules)
    return { ...caller, scheme: 'DPoP' }
  }

  function admitToken(
    { token, proof }: Extract<Credential, { kind: 'token' }>,
    visit: Visit,
  ): Promise<Caller> | Caller {
    const digest = hash('sha256', token)
    const admitKnown = (known: KnownToken) => {
      if (proof !== undefined) return admitBound(known, token, proof, visit)
      if (known.boundTo === undefined) return known.caller
      throw new ProofRejection('token is bound to a key, and comes without DPoP proof')
    }
    const known = cache.find(digest)
    return known ? admitKnown(known) : verifyAnew(token, digest).then(fresh => admitFresh(fresh, admitKnown))
  }

  /** A token for one use is used up last: a proof that has to be made anew, with our nonce, does not cost it. */
  async function admitFresh(known: FreshToken, admitKnown: (known: KnownToken) => Promise<Caller> | Caller) {
    const caller = await admitKnown(known)
    await known.useUp?.()
    return caller
  }

  function admit(credential: Credential, visit: Visit): Promise<Caller> | Caller {
    if (credential.kind === 'none') return admitNobody()
    return credential.kind === 'api_key' ? admitKey(credential.key) : admitToken(credential, visit)
  }

  return function authenticate(visit) {
    let scheme: AuthScheme = 'Bearer'
    const refuse = (error: unknown): never => {
      throw error instanceof Rejection && error.code !== 'rate_limited' ? challenger.refuse(error, scheme) : error
    }
    try {
      const credential = readCredential(visit.headers, apiKeyHeader)
      scheme = schemeOf(credential)
      const caller = admit(credential, visit)
      return caller instanceof Promise ? caller.catch(refuse) : caller
    } catch (error) {
      return refuse(error)
    }
  }
}

function schemeOf(credential: Credential): AuthScheme {
  if (credential.kind === 'api_key') return 'ApiKey'
  return credential.kind === 'token' && credential.proof !== undefined ? 'DPoP' : 'Bearer'
}

function trustIssuers(
  configs: readonly IssuerConfig[],
  { world, agents }: AuthHouse,
  own: OwnIssuer | undefined,
): ReadonlyMap<string, TrustedIssuer> {
  const trusted = configs.map(config => ({ config, keys: createIssuerKeys(config.jwks, world) }))
  const all = [...(own && !configs.some(({ issuer }) => issuer === own.config.issuer) ? [own] : []), ...trusted]
  const hosts = all.map(({ config }) => hostOf(config))
  // Plain names at the domain of our agents are our agents', whoever else has its issuer there.
  const isAgents = (config: IssuerConfig) => config !== own?.config && hostOf(config) === agents.domain
  const isHostShared = (config: IssuerConfig) =>
    isAgents(config) || hosts.filter(host => host === hostOf(config)).length > 1
  return new Map(all.map(({ config, keys }) => [config.issuer, { config, keys, isHostShared: isHostShared(config) }]))
}

function hostOf({ issuer }: IssuerConfig): string {
  return new URL(issuer).hostname
}

/** Longest life of a token that counts once: it has to be remembered to its end. */
const singleUseMs = 15 * 60_000

/** @throws Rejection `replayed`; `signature_invalid` when it cannot be told from others, or lives too long; Unavailable */
async function takeOnce(
  { issuer, principal, tokenId, expiresAt }: VerifiedToken,
  seen: SingleUses,
  now: number,
): Promise<void> {
  const refuse = (problem: string) => new Rejection('signature_invalid', `Cannot verify token: ${problem}`)
  if (tokenId === undefined) throw refuse('it is for one use and has no jti')
  if (expiresAt > now + singleUseMs) throw refuse('it is for one use and lives too long')
  // The tolerance lets it in a little after its end.
  const id = `jwt ${issuer.config.issuer} ${tokenId}`
  if (await seen.take({ id, owner: ownerOf(principal), until: expiresAt + 60_000 })) return
  throw new Rejection('replayed', 'Cannot verify token: it was used before')
}
