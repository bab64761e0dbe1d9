// Verifies signed access tokens (JWT) with the public keys of their issuers.
import type { KeyOrigin, ProofKey } from '@postern/message'
import { isJsonObject, Rejection, Unavailable } from '@postern/message'
import type { UsedKey } from '@postern/pipeline'
import { toProofKey } from '@postern/pipeline'
import type { CryptoKey, JWTPayload, JWTVerifyGetKey, ProtectedHeaderParameters } from 'jose'
import type { IssuerKeys } from './issuer-keys.ts'
import type { IssuerRules } from './issuer-rules.ts'
import { loadJose } from './load-jose.ts'

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
  /** The trusted issuers by their exact `iss`. */
  readonly issuers: ReadonlyMap<string, IssuerTrust>
  readonly toleranceSeconds: number
  now(): number
}

export interface VerifiedToken {
  readonly principal: Principal
  readonly issuer: IssuerTrust
  /** The generation of the issuer's keys that verified the token. */
  readonly generation: number
  readonly usedKey: UsedKey
  readonly algorithm: string
  readonly keyId?: string | undefined
  /** True if the issuer declares an access token, by `typ: at+jwt` (RFC 9068). */
  readonly isAccessToken: boolean
  /** The value of `exp`, in ms. */
  readonly expiresAt: number
  /** The end of the token's validity including the tolerance for clocks, in ms. */
  readonly endsAt: number
  /** The thumbprint (`cnf.jkt`) of the key whose proof must accompany the token (RFC 9449 §6.1). */
  readonly keyThumbprint: string | undefined
  /** The unparsed value of `scope`, or of `scp` from some issuers. */
  readonly scope: unknown
  readonly tokenId: string | undefined
}

/** The longest accepted lifetime of a token, in seconds. A longer lifetime is a mistake of the issuer. */
const maxLifeSeconds = 366 * 24 * 3600
const maxPrincipalChars = 512
const accessTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt'])
const plainTypes: ReadonlySet<string> = new Set(['jwt', 'application/jwt'])

/**
 * Verifies a JWT of a configured issuer (RFC 7519 §7.2, RFC 8725, RFC 9068 §4): an algorithm of the issuer's list, the key by `kid` from
 * its key set, exact `iss`, our `aud`, `exp`, `nbf`, `iat`. Refusals name the claim but never its value.
 * @throws Rejection, Unavailable
 */
export async function verifyToken(token: string, rules: TokenTrust): Promise<VerifiedToken> {
  const jose = await loadJose()
  const { header, claims } = readUnverifiedToken(token, jose)
  const issuer = rules.issuers.get(claims.iss ?? '')
  if (!issuer) throw refuseToken('issuer is not trusted')
  const isAccessToken = checkType(header, issuer.config)
  const { config, keys } = issuer
  const previousGeneration = keys.generation()
  let generation = Number.NaN
  let key: Awaited<ReturnType<IssuerKeys['find']>> | undefined
  const findKey: JWTVerifyGetKey = async (jwsHeader, jws) => {
    key = await keys.find(jwsHeader, jws)
    generation = keys.generation()
    return key
  }
  const { payload, protectedHeader } = await jose
    .jwtVerify(token, findKey, {
      algorithms: [...config.algorithms],
      issuer: config.issuer,
      audience: config.audience,
      clockTolerance: rules.toleranceSeconds,
      currentDate: new Date(rules.now()),
      requiredClaims: ['exp'],
    })
    .catch(cause => {
      throw cause instanceof Unavailable ? cause : describeRefusal(cause)
    })
  checkClaims(payload, rules)
  const { alg: algorithm, kid: keyId } = protectedHeader
  return {
    principal: readPrincipal(payload, config.issuer),
    issuer,
    generation,
    usedKey: await describeUsedKey(
      key,
      keys.isConfigured ? 'config' : previousGeneration === generation ? 'cache' : 'fetched',
    ),
    algorithm,
    keyId,
    isAccessToken,
    expiresAt: (payload.exp ?? 0) * 1000,
    endsAt: ((payload.exp ?? 0) + rules.toleranceSeconds) * 1000,
    keyThumbprint: readBinding(payload),
    scope: payload.scope ?? payload.scp,
    tokenId: isName(payload.jti) ? payload.jti : undefined,
  }
}

/** Reads the unverified claims, only to select the issuer. */
function readUnverifiedToken(
  token: string,
  { decodeJwt, decodeProtectedHeader }: Awaited<ReturnType<typeof loadJose>>,
): { header: ProtectedHeaderParameters; claims: JWTPayload } {
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

/** The checks for claims that only other tokens have: ID tokens (OpenID Connect Core §2), and refresh tokens of known issuers. */
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

const thumbprintPattern = /^[A-Za-z0-9_-]{43}$/

/** Reads the key binding of a token. A binding that the gateway cannot check is refused (RFC 8705 §3), because the token may be stolen. */
function readBinding({ cnf }: JWTPayload): string | undefined {
  if (cnf === undefined) return undefined
  const { jkt, ...otherMembers } = isJsonObject(cnf) ? cnf : {}
  if (typeof jkt === 'string' && thumbprintPattern.test(jkt) && Object.keys(otherMembers).length === 0) return jkt
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

/** Returns true for a valid name. It must be well formed, because a store writes every lone surrogate as the same replacement character. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= maxPrincipalChars && value.isWellFormed()
}

const reasonsByCode: Readonly<Record<string, string>> = {
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature is wrong',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm is not one of its issuer',
  ERR_JWKS_NO_MATCHING_KEY: 'key is not one of its issuer',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key is not named',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claim does not hold',
}

function describeRefusal(cause: unknown): Rejection {
  const { code = '', claim } = cause as { readonly code?: string; readonly claim?: string }
  if (code === 'ERR_JWT_EXPIRED') return new Rejection('expired', 'Cannot verify token: it is expired', { cause })
  const reason = reasonsByCode[code] ?? 'it is not well formed'
  return refuseToken(claim && /^\w{1,16}$/.test(claim) ? `${reason}: ${claim}` : reason, cause)
}

function refuseToken(reason: string, cause?: unknown): Rejection {
  return new Rejection('signature_invalid', `Cannot verify token: ${reason}`, { cause })
}

/** The records of keys. Each one is written only once, because a key verifies many tokens. */
const describedKeys = new WeakMap<object, ProofKey>()

/** Describes the key of an issuer for the record of a message. A secret that is shared with the issuer is not recorded. */
async function describeUsedKey(key: CryptoKey | Uint8Array | undefined, from: KeyOrigin): Promise<UsedKey> {
  if (key === undefined || key instanceof Uint8Array || key.type !== 'public' || !key.extractable) return { from }
  const describedKey = describedKeys.get(key)
  if (describedKey) return { from, key: describedKey }
  const { exportJWK } = await loadJose()
  const proofKey = toProofKey('jwk', JSON.stringify(await exportJWK(key)))
  describedKeys.set(key, proofKey)
  return { from, key: proofKey }
}

/** The claim that names a principal, and its value. */
export interface Principal {
  readonly issuer: string
  readonly claim: 'sub' | 'client_id' | 'api_key'
  readonly value: string
}

/** Returns the key of a principal. Neither an issuer nor a claim's name contains a blank, so two principals never share a key. */
export function ownerOf({ issuer, claim, value }: Principal): string {
  return `${issuer} ${claim} ${value}`
}
