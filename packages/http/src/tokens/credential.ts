import { Rejection } from '@postern/core'
import type { IssuerRules } from './issuer-rules.ts'
import { tokenAlgorithms } from './issuer-rules.ts'

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

/** The fault of the proof of possession, for a DPoP challenge (RFC 9449 §7.1). */
export class ProofRejection extends Rejection {
  /** The nonce to use instead, if the nonce is the fault (RFC 9449 §9). */
  readonly nonce: string | undefined

  constructor(problem: string, { nonce, cause }: { readonly nonce?: string; readonly cause?: unknown } = {}) {
    super('signature_invalid', `Cannot take request: ${problem}`, { cause })
    this.nonce = nonce
  }
}

function refuseCredential(problem: string, isProof = false): Rejection {
  return isProof ? new ProofRejection(problem) : new Rejection('signature_invalid', `Cannot take request: ${problem}`)
}

/** The scheme of a credential, as in a challenge (RFC 9110 §11.3). `ApiKey` is our own, because no registered scheme fits. */
export type AuthScheme = 'Bearer' | 'DPoP' | 'ApiKey'

/** A refusal of a caller with its challenge, for all channels. */
export class CredentialRejection extends Rejection {
  readonly headers: Readonly<Record<string, string>>

  constructor(refused: Rejection, headers: Readonly<Record<string, string>>) {
    super(refused.code, refused.message, { cause: refused.cause ?? refused })
    this.headers = headers
  }
}

/** The challenges of an endpoint. */
export interface Challenger {
  /** A 401 (RFC 6750 §3, RFC 9449 §7.1). It names only the schemes if the request had no credential. */
  refuse(refused: Rejection, scheme: AuthScheme): CredentialRejection
  /** A 403 that names the missing scope (RFC 6750 §3.1). */
  refuseScope(scope: string, scheme: AuthScheme): CredentialRejection
}

interface ChallengeOptions {
  readonly realm: string
  /** The schemes for a caller without a credential. */
  readonly schemes: readonly AuthScheme[]
  readonly apiKeyHeader?: string
}

export function createChallenger({ realm: name, schemes, apiKeyHeader = '' }: ChallengeOptions): Challenger {
  const realm = `realm="${name}"`
  const parameters: Readonly<Record<AuthScheme, string>> = {
    Bearer: realm,
    DPoP: `${realm}, algs="${tokenAlgorithms.join(' ')}"`,
    ApiKey: `${realm}, header="${apiKeyHeader}"`,
  }
  const all = schemes.map(scheme => `${scheme} ${parameters[scheme]}`).join(', ')
  const challenge = (scheme: AuthScheme, error: string) => `${scheme} ${parameters[scheme]}, error="${error}"`
  return {
    refuse(refused, scheme) {
      if (refused.code === 'unsigned') return new CredentialRejection(refused, { 'www-authenticate': all })
      if (!(refused instanceof ProofRejection)) {
        return new CredentialRejection(refused, { 'www-authenticate': challenge(scheme, 'invalid_token') })
      }
      const { nonce } = refused
      const error = nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
      const headers = { 'www-authenticate': challenge('DPoP', error), ...(nonce && { 'dpop-nonce': nonce }) }
      return new CredentialRejection(refused, headers)
    },
    refuseScope(scope, scheme) {
      const refused = new Rejection('forbidden', `Cannot take request: scope "${scope}" is missing`)
      const header = `${challenge(scheme, 'insufficient_scope')}, scope="${scope}"`
      return new CredentialRejection(refused, { 'www-authenticate': header })
    },
  }
}

/** The schemes for tokens of these issuers. Bearer also counts for static tokens and without configuration. */
export function listTokenSchemes(issuers: readonly IssuerRules[], hasOthers: boolean): readonly AuthScheme[] {
  const needsProof = issuers.some(({ require_dpop }) => require_dpop)
  const isBearer = issuers.some(({ require_dpop }) => !require_dpop) || hasOthers
  return [...(isBearer ? (['Bearer'] as const) : []), ...(needsProof ? (['DPoP'] as const) : [])]
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

/** The claim that names a principal, and its value. */
export interface Principal {
  readonly issuer: string
  readonly claim: 'sub' | 'client_id' | 'api_key'
  readonly value: string
}

/** Neither an issuer nor a claim's name contains a blank, so two principals never share a key. */
export function ownerOf({ issuer, claim, value }: Principal): string {
  return `${issuer} ${claim} ${value}`
}
