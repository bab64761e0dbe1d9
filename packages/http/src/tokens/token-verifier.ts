import { hash } from 'node:crypto'
import type { Platform, Store } from '@postern/core'
import type { Credential } from './credential.ts'
import { ProofRejection } from './credential.ts'
import type { ProofRules } from './dpop.ts'
import { verifyProof } from './dpop.ts'
import { createDpopNonces } from './dpop-nonces.ts'
import type { TokenRules } from './issuer-rules.ts'
import { ownerOf } from './principal.ts'
import type { ScopedCaller, ScopeTable } from './scopes.ts'
import { readGrant } from './scopes.ts'
import { createSingleUses } from './single-uses.ts'
import { takeTokenOnce } from './take-token-once.ts'
import type { KnownToken } from './token-cache.ts'
import { createTokenCache } from './token-cache.ts'
import type { IssuerTrust, TokenTrust, VerifiedToken } from './verify-token.ts'
import { verifyToken } from './verify-token.ts'

/** The parts of a request that identify its sender. A DPoP proof must match the method and path. */
export type RequestHead = Pick<Request, 'headers' | 'method' | 'url'>

type TokenCredential = Extract<Credential, { readonly kind: 'token' }>

interface TokenVerifierOptions<Who> {
  readonly issuers: readonly IssuerTrust[]
  readonly rules: TokenRules
  readonly scopes: ScopeTable
  /** Makes a channel's caller of a verified token. @throws Rejection */
  describe(token: VerifiedToken, scopes: ScopedCaller['scopes']): Who
}

export interface TokenVerifierDeps {
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly store: Pick<Store, 'consumeOnce' | 'secret'>
  /** The gateway's public origin. The address in a proof begins with it. */
  readonly origin: string
}

interface FreshToken<Who> extends KnownToken<Who> {
  /** Uses a single-use token or proof up. @throws Rejection, Unavailable */
  readonly useUp?: (() => Promise<void>) | undefined
}

/**
 * Verifies a token by the rules of all channels (RFC 7519, RFC 8725, RFC 9068, RFC 9449). A verified token is cached by its SHA-256 until
 * it expires, its issuer's keys are fetched again, or five minutes have passed. So a key that the issuer removed is refused within
 * `keyTimes.maxAge`. A proof of possession is verified with every request. @throws Rejection, ProofRejection, Unavailable
 */
type VerifyBearer<Who> = (credential: TokenCredential, visit: RequestHead) => Promise<Who> | Who

export function createTokenVerifier<Who extends ScopedCaller>(
  { issuers, rules, scopes, describe }: TokenVerifierOptions<Who>,
  deps: TokenVerifierDeps,
): VerifyBearer<Who> {
  const { origin, platform, store } = deps
  const now = () => platform.now()
  const seen = createSingleUses(store, now)
  const cache = createTokenCache<Who>(now)
  const toleranceSeconds = rules.clock_tolerance_seconds
  const trust: TokenTrust = { issuers: new Map(issuers.map(each => [each.config.issuer, each])), toleranceSeconds, now }
  const nonces = rules.dpop_nonce ? createDpopNonces(deps) : undefined
  const proofRules: ProofRules = { toleranceSeconds, seen, nonces, now }

  async function verifyAnew(token: string, digest: string): Promise<FreshToken<Who>> {
    const verified = await verifyToken(token, trust)
    const { issuer, generation, boundTo, expiresAt, principal } = verified
    const { require_scopes: isRequired, require_dpop, single_use } = issuer.config
    const known: KnownToken<Who> = {
      who: describe(verified, readGrant(verified.scope, { isRequired, table: scopes })),
      owner: ownerOf(principal),
      boundTo,
      isCurrent: () => issuer.keys.generation() === generation,
    }
    if (require_dpop && boundTo === undefined) throw new ProofRejection('token is not bound to a key')
    if (single_use) return { ...known, useUp: () => takeTokenOnce(verified, seen, now()) }
    cache.put(digest, expiresAt, known)
    return known
  }

  async function admitBound(known: KnownToken<Who>, token: string, proof: string, visit: RequestHead): Promise<Who> {
    const { boundTo, owner, who } = known
    if (boundTo === undefined) throw new ProofRejection('token is not bound to a key, so a proof says nothing')
    const url = origin + new URL(visit.url).pathname
    await verifyProof(proof, { token, boundTo, owner, method: visit.method, url }, proofRules)
    return { ...who, scheme: 'DPoP' }
  }

  return ({ token, proof }, visit) => {
    const admit = (known: KnownToken<Who>) => {
      if (proof !== undefined) return admitBound(known, token, proof, visit)
      if (known.boundTo === undefined) return known.who
      throw new ProofRejection('token is bound to a key, and comes without DPoP proof')
    }
    const digest = hash('sha256', token)
    const known = cache.find(digest)
    return known ? admit(known) : verifyAnew(token, digest).then(fresh => admitFresh(fresh, admit))
  }
}

/** Uses a single-use token up last, so that a proof to be repeated with our nonce does not cost it. */
async function admitFresh<Who>(
  fresh: FreshToken<Who>,
  admit: (known: KnownToken<Who>) => Promise<Who> | Who,
): Promise<Who> {
  const who = await admit(fresh)
  await fresh.useUp?.()
  return who
}
