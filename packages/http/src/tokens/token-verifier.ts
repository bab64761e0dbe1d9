// Verifies tokens by the rules of all channels, with a cache of verified ones.

import { hash } from 'node:crypto'
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { Store } from '@postern/pipeline'
import type { IncomingRequest } from '../request/socket-request.ts'
import { ProofRejection } from './challenges.ts'
import type { ProofRules } from './dpop.ts'
import { createDpopNonces, verifyProof } from './dpop.ts'
import type { TokenRules } from './issuer-rules.ts'
import type { Credential } from './read-credential.ts'
import type { ScopedCaller, ScopeTable } from './scopes.ts'
import { readGrant } from './scopes.ts'
import type { SingleUses } from './single-uses.ts'
import { createSingleUses } from './single-uses.ts'
import type { IssuerTrust, TokenTrust, VerifiedToken } from './verify-token.ts'
import { ownerOf, verifyToken } from './verify-token.ts'

/** The parts of a request that identify its sender. A DPoP proof must match the method and path. */
export type RequestHead = Pick<IncomingRequest, 'headers' | 'method' | 'url'>

type TokenCredential = Extract<Credential, { readonly kind: 'token' }>

interface TokenVerifierOptions<Caller> {
  readonly issuers: readonly IssuerTrust[]
  readonly rules: TokenRules
  readonly scopes: ScopeTable
  /** Returns the channel's caller for a verified token. @throws Rejection */
  describe(token: VerifiedToken, scopes: ScopedCaller['scopes']): Caller
}

export interface TokenVerifierDeps {
  readonly system: Pick<System, 'now' | 'randomBytes'>
  readonly store: Pick<Store, 'consumeOnce' | 'openSecret'>
  /** The gateway's public origin. The address in a proof begins with it. */
  readonly origin: string
}

/** A token with its proof of possession, in the request that must match the proof. */
interface ProvenToken {
  readonly token: string
  readonly proof: string
  readonly request: RequestHead
}

interface VerifiedCaller<Caller> extends CachedCaller<Caller> {
  /** Uses up a single-use token or proof. @throws Rejection, Unavailable */
  readonly consume?: (() => Promise<void>) | undefined
}

/**
 * Verifies a token by the rules of all channels (RFC 7519, RFC 8725, RFC 9068, RFC 9449). A verified token is cached by its SHA-256 until
 * it expires, its issuer's keys are fetched again, or five minutes have passed. So a key that the issuer removed is refused within
 * `issuerKeyTimes.maxAgeMs`. A proof of possession is verified with every request.
 * @throws Rejection, ProofRejection, Unavailable
 */
type VerifyBearer<Caller> = (credential: TokenCredential, request: RequestHead) => Promise<Caller> | Caller

export function createTokenVerifier<Caller extends ScopedCaller>(
  { issuers, rules, scopes, describe }: TokenVerifierOptions<Caller>,
  deps: TokenVerifierDeps,
): VerifyBearer<Caller> {
  const { origin, system, store } = deps
  const now = () => system.now()
  const singleUses = createSingleUses(store, now)
  const cache = createExpiringMap<CachedCaller<Caller>>(cacheLimits.entries, now)
  const toleranceSeconds = rules.clock_tolerance_seconds
  const trust: TokenTrust = {
    issuers: new Map(issuers.map(issuer => [issuer.config.issuer, issuer])),
    toleranceSeconds,
    now,
  }
  const nonces = rules.dpop_nonce ? createDpopNonces(deps) : undefined
  const proofRules: ProofRules = { toleranceSeconds, singleUses, nonces, now }

  async function verifyUncached(token: string, digest: string): Promise<VerifiedCaller<Caller>> {
    const verifiedToken = await verifyToken(token, trust)
    const { issuer, generation, keyThumbprint, expiresAt, principal } = verifiedToken
    const { require_scopes: isRequired, require_dpop, single_use } = issuer.config
    const cachedCaller: CachedCaller<Caller> = {
      caller: describe(verifiedToken, readGrant(verifiedToken.scope, { isRequired, table: scopes })),
      owner: ownerOf(principal),
      keyThumbprint,
      isCurrent: () => issuer.keys.generation() === generation,
    }
    if (require_dpop && keyThumbprint === undefined) throw new ProofRejection('token is not bound to a key')
    if (single_use) return { ...cachedCaller, consume: () => consumeToken(verifiedToken, singleUses, now()) }
    cache.set(digest, cachedCaller, Math.min(expiresAt - now(), cacheLimits.lifeMs))
    return cachedCaller
  }

  async function admitBound(
    { keyThumbprint, owner, caller }: CachedCaller<Caller>,
    { token, proof, request }: ProvenToken,
  ): Promise<Caller> {
    if (keyThumbprint === undefined) throw new ProofRejection('token is not bound to a key, so a proof says nothing')
    const url = origin + new URL(request.url).pathname
    await verifyProof(proof, { token, keyThumbprint, owner, method: request.method, url }, proofRules)
    return { ...caller, scheme: 'DPoP' }
  }

  return ({ token, proof }, request) => {
    const admit = (cachedCaller: CachedCaller<Caller>) => {
      if (proof !== undefined) return admitBound(cachedCaller, { token, proof, request })
      if (cachedCaller.keyThumbprint === undefined) return cachedCaller.caller
      throw new ProofRejection('token is bound to a key, and comes without DPoP proof')
    }
    const digest = hash('sha256', token)
    const cachedCaller = cache.get(digest)
    return cachedCaller?.isCurrent()
      ? admit(cachedCaller)
      : verifyUncached(token, digest).then(verifiedCaller => admitVerified(verifiedCaller, admit))
  }
}

/** Uses up a single-use token last, so that a request that has to be repeated with our nonce does not cost the token. */
async function admitVerified<Caller>(
  verifiedCaller: VerifiedCaller<Caller>,
  admit: (cachedCaller: CachedCaller<Caller>) => Promise<Caller> | Caller,
): Promise<Caller> {
  const admission = admit(verifiedCaller)
  const caller = admission instanceof Promise ? await admission : admission
  if (verifiedCaller.consume) await verifiedCaller.consume()
  return caller
}

const cacheLimits = { entries: 10_000, lifeMs: 5 * 60_000 } as const

/** A verified token and its caller. */
interface CachedCaller<Caller> {
  readonly caller: Caller
  /** The key of the principal's quota. */
  readonly owner: string
  /** The thumbprint of the key to which the token is bound. */
  readonly keyThumbprint: string | undefined
  /** Returns true if the keys that verified the token are still current. */
  isCurrent(): boolean
}

/** The longest lifetime of a single-use token, ms. The gateway remembers the token until its end. */
const maxSingleUseMs = 15 * 60_000

/**
 * Uses up a token in the whole gateway, on all channels.
 * @throws Rejection `replayed`; `signature_invalid` if the token has no id or is valid for too long; Unavailable
 */
async function consumeToken(
  { issuer, principal, tokenId, expiresAt }: VerifiedToken,
  singleUses: SingleUses,
  now: number,
): Promise<void> {
  const refuse = (reason: string) => new Rejection('signature_invalid', `Cannot verify token: ${reason}`)
  if (tokenId === undefined) throw refuse('it is for one use and has no jti')
  if (expiresAt > now + maxSingleUseMs) throw refuse('it is for one use and lives too long')
  // The tolerance admits the token for a short time after its end.
  const id = `jwt ${issuer.config.issuer} ${tokenId}`
  if (await singleUses.consume({ id, owner: ownerOf(principal), expiresAt: expiresAt + 60_000 })) return
  throw new Rejection('replayed', 'Cannot verify token: it was used before')
}
