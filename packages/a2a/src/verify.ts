import { hash, timingSafeEqual } from 'node:crypto'
import type { ChannelContext, IdentityEvidence, Proof, Sender, SenderProfile, UsedKey } from '@postern/core'
import { formatAddress, isJsonObject, mintTransportEvidence, parseIfAddress, Rejection } from '@postern/core'
import type {
  AuthScheme,
  Challenger,
  Credential,
  Principal,
  RequestHead,
  ScopedCaller,
  ScopeTable,
  VerifiedToken,
} from '@postern/http/tokens'
import {
  admitCredential,
  createChallenger,
  createIssuerKeys,
  createTokenVerifier,
  defaultScopes,
  listTokenSchemes,
  ownerOf,
  readCredential,
  readGrant,
} from '@postern/http/tokens'
import type { A2aConfig, ApiKeyConfig, TrustedIssuerConfig } from './config.ts'
import type { OwnIssuer } from './keys/own-keys.ts'

type AuthDeps = Pick<ChannelContext, 'platform' | 'store'> & {
  readonly agents: Pick<ChannelContext['agents'], 'domain' | 'origin'>
}

/** The caller by an API key, by a token, or without credentials if that is allowed. Tokens follow the rules of all channels. */
export function createVerifyCaller(
  config: A2aConfig,
  gateway: AuthDeps,
  challenger: Challenger,
  own?: OwnIssuer,
): VerifyCaller {
  const { auth } = config
  const { platform, store, agents } = gateway
  const table = readScopeTable(config)
  const findApiKey = createApiKeyCheck(auth.api_keys)
  const apiKeyHeader = auth.api_keys.length > 0 ? auth.api_key_header : undefined
  const anonymous = auth.anonymous ? nobodyAt(agents.domain) : undefined
  const issuers = listIssuers(auth.issuers, gateway, own)
  const shared = findSharedHosts(issuers, agents.domain, own)
  const verifyBearer = createTokenVerifier<Caller>(
    {
      issuers,
      rules: auth,
      scopes: table,
      describe: (token, scopes) => tokenCaller(token, { scopes, isHostShared: shared.has(token.issuer.config.issuer) }),
    },
    { platform, store, origin: agents.origin },
  )

  function admitNobody(): Caller {
    if (anonymous) return anonymous
    throw new Rejection('unsigned', 'Cannot take request: credentials are missing')
  }

  function admit(credential: Credential, visit: RequestHead): Promise<Caller> | Caller {
    if (credential.kind === 'none') return admitNobody()
    if (credential.kind === 'token') return verifyBearer(credential, visit)
    return apiKeyCaller(findApiKey(credential.key), { table, ...agents })
  }

  return visit =>
    admitCredential(
      () => readCredential(visit.headers, apiKeyHeader),
      credential => admit(credential, visit),
      challenger,
    )
}

function listIssuers(
  configs: readonly TrustedIssuerConfig[],
  { platform }: AuthDeps,
  own: OwnIssuer | undefined,
): readonly OwnIssuer[] {
  const trusted = configs.map(config => ({ config, keys: createIssuerKeys(config.jwks, platform) }))
  return [...(own && !configs.some(({ issuer }) => issuer === own.config.issuer) ? [own] : []), ...trusted]
}

/** Issuers whose plain names are ambiguous: those that share a host, and those at the domain of our agents. */
function findSharedHosts(
  issuers: readonly OwnIssuer[],
  domain: string,
  own: OwnIssuer | undefined,
): ReadonlySet<string> {
  const hosts = issuers.map(({ config }) => hostOf(config))
  const isShared = ({ config }: OwnIssuer) => {
    const isAgents = config !== own?.config && hostOf(config) === domain
    return isAgents || hosts.filter(host => host === hostOf(config)).length > 1
  }
  return new Set(issuers.filter(isShared).map(({ config }) => config.issuer))
}

function hostOf({ issuer }: TrustedIssuerConfig): string {
  return new URL(issuer).hostname
}

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
  const address = parseIfAddress(value)
  return address?.domain === host && plainLocal.test(address.local) ? address.local : undefined
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
function tokenCaller(
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
function apiKeyCaller({ name, scopes }: ApiKeyConfig, { domain, origin, table }: KeyPlace): Caller {
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
function nobodyAt(domain: string): Caller {
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

/**
 * The configured key that a caller presents. Each digest is compared with all configured ones, so that the time of the answer reveals
 * nothing about them. @throws Rejection `signature_invalid`
 */
export function createApiKeyCheck(keys: readonly ApiKeyConfig[]): (presented: string) => ApiKeyConfig {
  const known = keys.map(config => ({ config, digest: Buffer.from(config.sha256, 'hex') }))
  return presented => {
    const digest = hash('sha256', presented, 'buffer')
    let found: ApiKeyConfig | undefined
    for (const key of known) if (timingSafeEqual(key.digest, digest)) found = key.config
    if (!found) throw new Rejection('signature_invalid', 'Cannot take request: API key is not one of ours')
    return found
  }
}

export function readScopeTable({ auth }: Pick<A2aConfig, 'auth'>): ScopeTable {
  return { ...defaultScopes, ...auth.scopes }
}

/** Challenges that offer exactly what the gateway enforces. */
export function openChallenger({ auth }: Pick<A2aConfig, 'auth'>, domain: string): Challenger {
  return createChallenger({ realm: domain, schemes: offeredSchemes(auth), apiKeyHeader: auth.api_key_header })
}

/** The enforced schemes; Bearer if none is configured. */
export function offeredSchemes({ issuers, api_keys }: A2aConfig['auth']): readonly AuthScheme[] {
  const isNothing = issuers.length === 0 && api_keys.length === 0
  return [...listTokenSchemes(issuers, isNothing), ...(api_keys.length > 0 ? (['ApiKey'] as const) : [])]
}

const profileMembers = ['display_name', 'username', 'locale', 'timezone'] as const
const maxProfileChars = 200

/** From the principal alone. A message's own statement about its author is only text, unless a trusted party confirms it. */
export function renderSender(
  caller: Caller,
  accepted: readonly IdentityEvidence[],
  { audience, issuedAt }: { readonly audience: string; readonly issuedAt: string },
): Sender {
  const { address, authMethod, keyId, subject, issuer } = caller
  const profile = readProfile(accepted)
  const name = profile?.display_name
  const shown = { address, ...(name && { display_name: name }), ...(profile && { profile }) }
  if (authMethod === 'none') {
    return { ...shown, auth_method: 'none', verified: false, ...(accepted.length > 0 && { identities: [...accepted] }) }
  }
  const evidence = { method: authMethod, subject, issuer, assurance: 'oauth', audience, issuedAt, keyId } as const
  return {
    ...shown,
    auth_method: authMethod,
    verified: true,
    ...(keyId && { key_id: keyId }),
    identities: [mintTransportEvidence(evidence), ...accepted],
  }
}

/**
 * How the platform whose connector provides evidence shows this person (MN-2.2, MN-6.5). It uses valid evidence, and for display only.
 * Undefined if no evidence names it.
 */
export function readProfile(accepted: readonly IdentityEvidence[]): SenderProfile | undefined {
  for (const { claims = {}, subject } of accepted) {
    const { profile, platform } = claims
    if (!isJsonObject(profile)) continue
    const shown = profileMembers.flatMap(name => listText(name, profile[name]))
    const provider = isJsonObject(platform) ? listText('provider', platform.provider) : []
    return Object.fromEntries([...shown, ...provider, ['provider_subject', subject]])
  }
  return undefined
}

function listText(name: string, value: unknown): readonly (readonly [string, string])[] {
  const text =
    typeof value === 'string'
      ? value
          .replace(/\p{Cc}+/gu, ' ')
          .trim()
          .slice(0, maxProfileChars)
      : ''
  return text === '' ? [] : [[name, text]]
}
