// Describes a verified caller: the holder of a token or of an API key, or an anonymous caller.
import { hash } from 'node:crypto'
import type { Principal, ScopedCaller, ScopeTable, VerifiedToken } from '@postern/http/tokens'
import { ownerOf, readGrant } from '@postern/http/tokens'
import type { CredentialKind, Proof } from '@postern/message'
import { formatAddress } from '@postern/message'
import type { UsedKey } from '@postern/pipeline'
import type { ApiKeyConfig } from '../config.ts'

declare const provenBrand: unique symbol

/** A verified caller. Only `verifyCaller` creates it. */
export interface Caller extends ScopedCaller {
  readonly [provenBrand]: true
  /** The key of everything that the caller owns. It is distinct for distinct (iss, sub). */
  readonly owner: string
  readonly isAnonymous: boolean
  /** The address `@local@host`, made from the principal alone. */
  readonly address: string
  readonly authMethod: 'a2a-jwt' | 'a2a-oauth' | 'none'
  readonly subject: string
  readonly issuer: string
  /** The kind of credential that `subject` names. Absent if `subject` is the subject of a token. */
  readonly credential?: CredentialKind | undefined
  readonly keyId?: string | undefined
  readonly proof: Proof
  /** The key that the proof was made with. */
  readonly usedKey?: UsedKey | undefined
  /** The end of the token's validity including the tolerance for clocks, in ms. Absent if the credential does not expire. */
  readonly endsAt?: number | undefined
}

const plainNamePattern = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/

/**
 * Returns the address of a principal, which no other principal shares. The local part is `sub` if that is a plain name. Every other spelling, even an
 * address at the issuer's host, becomes a readable slug with `~` and a digest of the exact bytes. If several trusted issuers share a host
 * (realms of one server), the local part is always a slug with the issuer in its digest.
 */
export function addressOf(principal: Principal, { isHostShared = false } = {}): string {
  const { issuer, claim, value } = principal
  const domain = new URL(issuer).hostname
  if (isHostShared) return formatAddress({ local: createSlug(principal, ownerOf(principal)), domain })
  const plainName = claim === 'sub' && plainNamePattern.test(value) ? value : undefined
  return formatAddress({ local: plainName ?? createSlug(principal, `${claim} ${value}`), domain })
}

function createSlug({ value }: Principal, digestInput: string): string {
  const slug = value
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)
  return `${slug || 'caller'}~${hash('sha256', digestInput).slice(0, 12)}`
}

/** Returns the caller of a verified token. `scopes` come from `readGrant`. */
export function createTokenCaller(
  token: VerifiedToken,
  { scopes, isHostShared }: Pick<ScopedCaller, 'scopes'> & { readonly isHostShared: boolean },
): Caller {
  const { principal, algorithm, keyId, isAccessToken, usedKey, endsAt } = token
  const { issuer, claim, value: subject } = principal
  return brand({
    owner: ownerOf(principal),
    isAnonymous: false,
    address: addressOf(principal, { isHostShared }),
    authMethod: isAccessToken ? 'a2a-oauth' : 'a2a-jwt',
    subject,
    issuer,
    ...(claim !== 'sub' && { credential: claim }),
    keyId,
    scopes,
    scheme: 'Bearer',
    proof: { kind: 'jwt', verdict: 'pass', key_id: keyId, algorithm, issuer, subject },
    usedKey,
    endsAt,
  })
}

/** The gateway as the issuer of API keys. */
interface ApiKeyIssuer {
  readonly domain: string
  readonly origin: string
  readonly scopeTable: ScopeTable
}

/**
 * Returns the holder of an API key, whose subject is the name of the key. No published method fits keys, so `a2a-oauth` with this
 * gateway as the issuer is used.
 */
export function createApiKeyCaller(
  { name, scopes }: ApiKeyConfig,
  { domain, origin, scopeTable }: ApiKeyIssuer,
): Caller {
  const principal: Principal = { issuer: origin, claim: 'api_key', value: name }
  return brand({
    owner: ownerOf(principal),
    isAnonymous: false,
    // The local part is never a plain name, because plain names at our domain belong to our agents.
    address: formatAddress({ local: createSlug(principal, ownerOf(principal)), domain }),
    authMethod: 'a2a-oauth',
    subject: name,
    issuer: origin,
    credential: 'api_key',
    scopes: scopes && readGrant(scopes, { isRequired: true, table: scopeTable }),
    scheme: 'ApiKey',
    proof: { kind: 'api-key', verdict: 'pass', issuer: origin, subject: name },
    usedKey: { from: 'config' },
  })
}

/** Returns the caller without a credential, if the configuration allows such callers. */
export function createAnonymousCaller(domain: string): Caller {
  return brand({
    owner: 'anonymous',
    isAnonymous: true,
    address: `@anonymous@${domain}`,
    authMethod: 'none',
    subject: '',
    issuer: '',
    scheme: 'Bearer',
    proof: { kind: 'jwt', verdict: 'none', reason: 'no credential, and anonymous callers are let in' },
  })
}

function brand(
  caller: Omit<Caller, keyof { [Key in keyof Caller as Key extends symbol ? Key : never]: never }>,
): Caller {
  return caller as Caller
}
