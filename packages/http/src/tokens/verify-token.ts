import type { UsedKey } from '@postern/core'
import { isJsonObject, Rejection, Unavailable } from '@postern/core'
import type { JWTPayload, JWTVerifyGetKey, ProtectedHeaderParameters } from 'jose'
import type { IssuerRules } from './issuer-rules.ts'
import { loadJose } from './jose.ts'
import type { IssuerKeys } from './keys/issuer-keys.ts'
import { describeUsedKey } from './keys/used-key.ts'
import type { Principal } from './principal.ts'

/** An issuer that the configuration trusts. */
export interface IssuerTrust {
  readonly config: IssuerRules & {
    /** The exact `iss` of its tokens. */
    readonly issuer: string
    /** The `aud` of tokens for us. */
    readonly audience: string
    readonly algorithms: readonly string[]
  }
  readonly keys: IssuerKeys
}

export interface TokenTrust {
  /** By exact `iss`. */
  readonly issuers: ReadonlyMap<string, IssuerTrust>
  readonly toleranceSeconds: number
  now(): number
}

export interface VerifiedToken {
  readonly principal: Principal
  readonly issuer: IssuerTrust
  /** The number of its issuer's keys that verified it. */
  readonly generation: number
  readonly usedKey: UsedKey
  readonly algorithm: string
  readonly keyId?: string | undefined
  /** `typ: at+jwt` (RFC 9068): the issuer declares an access token. */
  readonly isAccessToken: boolean
  /** ms */
  readonly expiresAt: number
  /** `cnf.jkt`: thumbprint of the key whose proof must come with the token (RFC 9449 §6.1). */
  readonly boundTo: string | undefined
  /** `scope`, or `scp` of some issuers; not parsed yet. */
  readonly scope: unknown
  readonly tokenId: string | undefined
}

/** The longest accepted life. A longer one is a mistake of the issuer. */
const maxLifeSeconds = 366 * 24 * 3600
const maxPrincipal = 512
const accessTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt'])
const plainTypes: ReadonlySet<string> = new Set(['jwt', 'application/jwt'])

/**
 * Verifies a JWT of a configured issuer (RFC 7519 §7.2, RFC 8725, RFC 9068 §4): an algorithm of the issuer's list, the key by `kid` from
 * its key set, exact `iss`, our `aud`, `exp`, `nbf`, `iat`. Refusals name the claim but never its value. @throws Rejection, Unavailable
 */
export async function verifyToken(token: string, rules: TokenTrust): Promise<VerifiedToken> {
  const { jwtVerify } = await loadJose()
  const { header, claims } = await peekToken(token)
  const issuer = rules.issuers.get(claims.iss ?? '')
  if (!issuer) throw refuseToken('issuer is not trusted')
  const isAccessToken = checkType(header, issuer.config)
  const { config, keys } = issuer
  const before = keys.generation()
  let generation = Number.NaN
  let found: Awaited<ReturnType<IssuerKeys['find']>> | undefined
  const findKey: JWTVerifyGetKey = async (head, jws) => {
    found = await keys.find(head, jws)
    generation = keys.generation()
    return found
  }
  const { payload, protectedHeader } = await jwtVerify(token, findKey, {
    algorithms: [...config.algorithms],
    issuer: config.issuer,
    audience: config.audience,
    clockTolerance: rules.toleranceSeconds,
    currentDate: new Date(rules.now()),
    requiredClaims: ['exp'],
  }).catch(cause => {
    throw cause instanceof Unavailable ? cause : describeRefusal(cause)
  })
  checkClaims(payload, rules)
  const { alg: algorithm, kid: keyId } = protectedHeader
  return {
    principal: readPrincipal(payload, config.issuer),
    issuer,
    generation,
    usedKey: await describeUsedKey(found, keys.isConfigured ? 'config' : before === generation ? 'cache' : 'fetched'),
    algorithm,
    keyId,
    isAccessToken,
    expiresAt: (payload.exp ?? 0) * 1000,
    boundTo: readBinding(payload),
    scope: payload.scope ?? payload.scp,
    tokenId: isName(payload.jti) ? payload.jti : undefined,
  }
}

/** The unverified claims, only to select the issuer. */
async function peekToken(token: string): Promise<{ header: ProtectedHeaderParameters; claims: JWTPayload }> {
  const { decodeJwt, decodeProtectedHeader } = await loadJose()
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) }
  } catch (cause) {
    throw refuseToken('not a JWT', cause)
  }
}

function checkType({ typ, crit }: ProtectedHeaderParameters, config: IssuerRules): boolean {
  if (crit !== undefined) throw refuseToken('it names critical parameters')
  const type = typeof typ === 'string' ? typ.toLowerCase() : undefined
  if (type !== undefined && accessTypes.has(type)) return true
  if (config.require_at_jwt) throw refuseToken('it is not typed as an access token')
  if (typ !== undefined && !plainTypes.has(type ?? '')) throw refuseToken('its type is not one of an access token')
  return false
}

/** Claims that only other tokens have: ID tokens (OpenID Connect Core §2), refresh tokens of known issuers. */
const foreignUses: readonly ((claims: JWTPayload) => boolean)[] = [
  ({ nonce, at_hash, c_hash }) => nonce !== undefined || at_hash !== undefined || c_hash !== undefined,
  ({ typ }) => typeof typ === 'string' && /^(id|refresh|offline|logout)$/i.test(typ),
  ({ token_use }) => token_use !== undefined && token_use !== 'access',
]

function checkClaims(claims: JWTPayload, { now, toleranceSeconds }: TokenTrust): void {
  const seconds = now() / 1000
  const { exp = 0, iat } = claims
  if (exp > seconds + maxLifeSeconds) throw refuseToken('it lives too long')
  if (iat !== undefined && iat > seconds + toleranceSeconds) throw refuseToken('it was issued in the future')
  if (foreignUses.some(isForeign => isForeign(claims))) throw refuseToken('it is not an access token')
}

const thumbprint = /^[A-Za-z0-9_-]{43}$/

/** A token with a binding that we cannot check (RFC 8705 §3) may be stolen. */
function readBinding({ cnf }: JWTPayload): string | undefined {
  if (cnf === undefined) return undefined
  const { jkt, ...others } = isJsonObject(cnf) ? cnf : {}
  if (typeof jkt === 'string' && thumbprint.test(jkt) && Object.keys(others).length === 0) return jkt
  throw refuseToken('it is bound to a key in a way that is not supported')
}

function readPrincipal({ sub, client_id }: JWTPayload, issuer: string): Principal {
  const principal: Principal | undefined = isName(sub)
    ? { issuer, claim: 'sub', value: sub }
    : isName(client_id) && sub === undefined
      ? { issuer, claim: 'client_id', value: client_id }
      : undefined
  if (!principal) throw refuseToken('it names no principal')
  return principal
}

/** Well formed, because a store writes every lone surrogate as the same replacement character. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= maxPrincipal && value.isWellFormed()
}

const problems: Readonly<Record<string, string>> = {
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature is wrong',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm is not one of its issuer',
  ERR_JWKS_NO_MATCHING_KEY: 'key is not one of its issuer',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key is not named',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claim does not hold',
}

function describeRefusal(cause: unknown): Rejection {
  const { code = '', claim } = cause as { readonly code?: string; readonly claim?: string }
  if (code === 'ERR_JWT_EXPIRED') return new Rejection('expired', 'Cannot verify token: it is expired', { cause })
  const problem = problems[code] ?? 'it is not well formed'
  return refuseToken(claim && /^\w{1,16}$/.test(claim) ? `${problem}: ${claim}` : problem, cause)
}

function refuseToken(problem: string, cause?: unknown): Rejection {
  return new Rejection('signature_invalid', `Cannot verify token: ${problem}`, { cause })
}
