import { hash } from 'node:crypto'
import type { Proof, UsedKey } from '@postern/core'
import { formatAddress, parseAddress } from '@postern/core'
import type { Principal, RequestHead, ScopedCaller, ScopeTable, VerifiedToken } from '@postern/http/tokens'
import { ownerOf, readGrant } from '@postern/http/tokens'
import type { ApiKeyConfig } from '../config.ts'

declare const proven: unique symbol

/** The caller, proven by the transport. Only `verifyCaller` makes one. */
export interface Caller extends ScopedCaller {
  readonly [proven]: true
  /** Key of everything that the caller owns; distinct for distinct (iss, sub). */
  readonly owner: string
  readonly isAnonymous: boolean
  /** `@local@host`, made from the principal alone. */
  readonly address: string
  readonly authMethod: 'a2a-jwt' | 'a2a-oauth' | 'none'
  readonly subject: string
  readonly issuer: string
  readonly keyId?: string | undefined
  readonly proof: Proof
  /** The key that the proof was made with. */
  readonly usedKey?: UsedKey | undefined
}

const plainLocal = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/

/**
 * An address for a principal. It is `sub` if that is a plain name or an address at the issuer's host; else a readable slug with `~` and a
 * digest. If several trusted issuers share a host (realms of one server), it is always a slug with the issuer in its digest.
 */
export function addressOf(principal: Principal, { isHostShared = false } = {}): string {
  const { issuer, claim, value } = principal
  const domain = new URL(issuer).hostname
  if (isHostShared) return formatAddress({ local: slugOf(principal, ownerOf(principal)), domain })
  const own = claim === 'sub' ? (plainLocal.exec(value)?.[0] ?? localAt(value, domain)) : undefined
  return formatAddress({ local: own ?? slugOf(principal, `${claim} ${value}`), domain })
}

function localAt(value: string, host: string): string | undefined {
  if (!value.toLowerCase().endsWith(`@${host}`)) return undefined
  try {
    const { local, domain } = parseAddress(value)
    return domain === host && plainLocal.test(local) ? local : undefined
  } catch {
    return undefined
  }
}

function slugOf({ value }: Principal, distinct: string): string {
  const slug = value
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)
  return `${slug || 'caller'}~${hash('sha256', distinct).slice(0, 12)}`
}

/** The caller of a verified token; `scopes` as `readGrant` read them. */
export function tokenCaller(
  token: VerifiedToken,
  { scopes, isHostShared }: Pick<ScopedCaller, 'scopes'> & { readonly isHostShared: boolean },
): Caller {
  const { principal, algorithm, keyId, isAccessToken, usedKey } = token
  const { issuer, value: subject } = principal
  return brand({
    owner: ownerOf(principal),
    isAnonymous: false,
    address: addressOf(principal, { isHostShared }),
    authMethod: isAccessToken ? 'a2a-oauth' : 'a2a-jwt',
    subject,
    issuer,
    keyId,
    scopes,
    scheme: 'Bearer',
    proof: { kind: 'jwt', verdict: 'pass', key_id: keyId, algorithm, issuer, subject },
    usedKey,
  })
}

/** The gateway gave the API key, so it is the issuer. */
interface KeyPlace {
  readonly domain: string
  readonly origin: string
  readonly table: ScopeTable
}

/** The holder of an API key, by the key's name. No published method fits keys, so `a2a-oauth` with this gateway as the issuer is used. */
export function apiKeyCaller({ name, scopes }: ApiKeyConfig, { domain, origin, table }: KeyPlace): Caller {
  const principal: Principal = { issuer: origin, claim: 'api_key', value: name }
  return brand({
    owner: ownerOf(principal),
    isAnonymous: false,
    // Never a plain name: plain names at our domain belong to our agents.
    address: formatAddress({ local: slugOf(principal, ownerOf(principal)), domain }),
    authMethod: 'a2a-oauth',
    subject: name,
    issuer: origin,
    scopes: scopes && readGrant(scopes, { isRequired: true, table }),
    scheme: 'ApiKey',
    proof: { kind: 'api-key', verdict: 'pass', issuer: origin, subject: name },
    usedKey: { from: 'config' },
  })
}

/** A caller without a credential, if the configuration allows it. */
export function nobodyAt(domain: string): Caller {
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

/**
 * Finds the caller from the headers alone; a DPoP proof also needs the method and path. @throws CredentialRejection `unsigned` without
 * credential, `signature_invalid` or `expired` with a bad one; Unavailable
 */
export type VerifyCaller = (visit: RequestHead) => Promise<Caller> | Caller
