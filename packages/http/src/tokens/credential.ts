import { hash } from 'node:crypto'
import type { Platform, Store } from '@postern/core'
import { Rejection } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { AuthScheme, Challenger } from './challenges.ts'
import { ProofRejection } from './challenges.ts'
import type { ProofRules } from './dpop.ts'
import { createDpopNonces, verifyProof } from './dpop.ts'
import type { TokenRules } from './issuer-rules.ts'
import type { SingleUses } from './single-uses.ts'
import { createSingleUses } from './single-uses.ts'
import type { IssuerTrust, TokenTrust, VerifiedToken } from './verify-token.ts'
import { ownerOf, verifyToken } from './verify-token.ts'

/** The credential of a request as it came: exactly one, or none. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'api_key'; readonly key: string }
  | { readonly kind: 'token'; readonly token: string; readonly proof: string | undefined }

const maxHeader = 8 * 1024
/** Node joins two headers with a comma, which neither a token nor a proof contains. */
const jwt = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const bearer = /^bearer +(\S+)$/i
const dpop = /^dpop +(\S+)$/i

/**
 * Reads the one credential of a request (RFC 6750 §2.1, RFC 9449 §7.1). Schemes may have any case (RFC 9110 §11.1). A token in the query is
 * ignored. Without configured API keys `apiKeyHeader` is undefined, and the header may serve other programs. @throws Rejection
 * `signature_invalid`
 */
export function readCredential(headers: Headers, apiKeyHeader: string | undefined): Credential {
  const authorization = headers.get('authorization')
  const key = apiKeyHeader === undefined ? null : headers.get(apiKeyHeader)
  if (key !== null) return readApiKey(key, authorization)
  if (authorization === null) return { kind: 'none' }
  const proof = headers.get('dpop')
  return proof === null ? readBearer(authorization) : readBoundToken(authorization, proof)
}

function readApiKey(key: string, authorization: string | null): Credential {
  if (authorization !== null) throw refuseCredential('expected one credential')
  return { kind: 'api_key', key }
}

function readBearer(authorization: string): Credential {
  const token = matchToken(bearer, authorization)
  if (token) return { kind: 'token', token, proof: undefined }
  throw refuseCredential(
    matchToken(dpop, authorization) ? 'DPoP proof is missing' : 'expected one Bearer token',
    dpop.test(authorization.slice(0, maxHeader)),
  )
}

/** Refuses a proof beside a Bearer token: the sender believes that the proof counts. */
function readBoundToken(authorization: string, proof: string): Credential {
  const token = matchToken(dpop, authorization)
  if (!token) throw refuseCredential('a DPoP proof needs one DPoP token', true)
  if (proof.length > maxHeader || !jwt.test(proof)) throw refuseCredential('expected one DPoP proof', true)
  return { kind: 'token', token, proof }
}

function matchToken(scheme: RegExp, authorization: string): string | undefined {
  const token = authorization.length <= maxHeader ? scheme.exec(authorization)?.[1] : undefined
  return token !== undefined && jwt.test(token) ? token : undefined
}

function refuseCredential(problem: string, isProof = false): Rejection {
  return isProof ? new ProofRejection(problem) : new Rejection('signature_invalid', `Cannot take request: ${problem}`)
}

/** Reads a credential and admits its bearer; a refusal gets the challenge. A rate limit or an unavailable store gets none. */
export function admitCredential<Who>(
  read: () => Credential,
  admit: (credential: Credential) => Promise<Who> | Who,
  challenger: Challenger,
): Promise<Who> | Who {
  let scheme: AuthScheme = 'Bearer'
  const refuse = (error: unknown): never => {
    throw error instanceof Rejection && error.code !== 'rate_limited' ? challenger.refuse(error, scheme) : error
  }
  try {
    const credential = read()
    scheme = schemeOf(credential)
    const admitted = admit(credential)
    return admitted instanceof Promise ? admitted.catch(refuse) : admitted
  } catch (error) {
    return refuse(error)
  }
}

function schemeOf(credential: Credential): AuthScheme {
  if (credential.kind === 'api_key') return 'ApiKey'
  return credential.kind === 'token' && credential.proof !== undefined ? 'DPoP' : 'Bearer'
}

/** The scope that each operation needs, by the names of A2A. `a2a.auth.scopes` can change the scopes. */
export const defaultScopes = {
  SendMessage: 'a2a:message.send',
  SendStreamingMessage: 'a2a:message.stream',
  GetTask: 'a2a:task.read',
  ListTasks: 'a2a:task.read',
  CancelTask: 'a2a:task.cancel',
  SubscribeToTask: 'a2a:task.resubscribe',
  CreateTaskPushNotificationConfig: 'a2a:task.push-config',
  GetTaskPushNotificationConfig: 'a2a:task.push-config',
  ListTaskPushNotificationConfigs: 'a2a:task.push-config',
  DeleteTaskPushNotificationConfig: 'a2a:task.push-config',
  GetExtendedAgentCard: 'a2a:card.extended',
} as const

export type ScopeTable = Readonly<Record<keyof typeof defaultScopes, string>>

/** A caller with the limits of their credential. `scopes` is undefined if no scope limits it. */
export interface ScopedCaller {
  readonly scopes?: ReadonlySet<string> | undefined
  /** The scheme of the credential, so that a refusal names the same one. */
  readonly scheme: AuthScheme
}

/**
 * What a caller may do by the scopes of its token. A token that names some of our scopes is limited to them. A token that names none is not
 * limited, unless its issuer must name scopes (`require_scopes`). Undefined: no limit.
 */
export function readGrant(
  named: unknown,
  { isRequired, table }: { readonly isRequired: boolean; readonly table: ScopeTable },
): ReadonlySet<string> | undefined {
  const ours = new Set<unknown>(Object.values(table))
  const granted = new Set(listScopes(named).filter(scope => ours.has(scope)))
  return granted.size > 0 || isRequired ? granted : undefined
}

/** `scope` of RFC 8693 §4.2 is a text; some issuers write an array (`scp`). */
function listScopes(named: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(named) ? named : typeof named === 'string' ? named.split(' ') : []
  return list.filter(scope => typeof scope === 'string').slice(0, 256)
}

/** Whether one of these scopes allows the caller's operation. */
export function allowsAny({ scopes }: ScopedCaller, allowing: readonly string[]): boolean {
  return scopes === undefined || allowing.some(scope => scopes.has(scope))
}

/** @throws CredentialRejection `forbidden`, which names the first of the scopes */
export function checkScope(caller: ScopedCaller, allowing: readonly string[], challenger: Challenger): void {
  const [first] = allowing
  if (first !== undefined && !allowsAny(caller, allowing)) throw challenger.refuseScope(first, caller.scheme)
}

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
