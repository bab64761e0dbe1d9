import { hash } from 'node:crypto'
import type { Platform, Store } from '@postern/core'
import { Rejection } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { Credential, ScopedCaller, ScopeTable } from './credential.ts'
import { ownerOf, ProofRejection, readGrant } from './credential.ts'
import type { ProofRules } from './dpop.ts'
import { createDpopNonces, verifyProof } from './dpop.ts'
import type { TokenRules } from './issuer-rules.ts'
import type { SingleUses } from './single-uses.ts'
import { createSingleUses } from './single-uses.ts'
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
  const cache = createExpiringMap<KnownToken<Who>>(cacheLimits.entries, now)
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
    cache.set(digest, known, Math.min(expiresAt - now(), cacheLimits.lifeMs))
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
    const known = cache.get(digest)
    return known?.isCurrent() ? admit(known) : verifyAnew(token, digest).then(fresh => admitFresh(fresh, admit))
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

const cacheLimits = { entries: 10_000, lifeMs: 5 * 60_000 } as const

/** A verified token and its caller. */
interface KnownToken<Who> {
  readonly who: Who
  /** Key of the principal's quota. */
  readonly owner: string
  /** Thumbprint of the key that the token is bound to. */
  readonly boundTo: string | undefined
  /** Whether the keys that verified it are still the present ones. */
  isCurrent(): boolean
}

/** Longest life of a single-use token, which the gateway remembers to its end. */
const singleUseMs = 15 * 60_000

/**
 * Uses a token up in the whole gateway, in all channels. @throws Rejection `replayed`; `signature_invalid` when it has no id or lives too
 * long; Unavailable
 */
async function takeTokenOnce(
  { issuer, principal, tokenId, expiresAt }: VerifiedToken,
  seen: SingleUses,
  now: number,
): Promise<void> {
  const refuse = (problem: string) => new Rejection('signature_invalid', `Cannot verify token: ${problem}`)
  if (tokenId === undefined) throw refuse('it is for one use and has no jti')
  if (expiresAt > now + singleUseMs) throw refuse('it is for one use and lives too long')
  // The tolerance admits it a little after its end.
  const id = `jwt ${issuer.config.issuer} ${tokenId}`
  if (await seen.take({ id, owner: ownerOf(principal), until: expiresAt + 60_000 })) return
  throw new Rejection('replayed', 'Cannot verify token: it was used before')
}
