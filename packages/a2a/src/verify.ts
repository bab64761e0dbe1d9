import type { ChannelContext } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Challenger, Credential, RequestHead } from '@postern/http/tokens'
import { admitCredential, createIssuerKeys, createTokenVerifier, readCredential } from '@postern/http/tokens'
import { createApiKeyCheck } from './auth/api-keys.ts'
import type { Caller, VerifyCaller } from './auth/caller.ts'
import { apiKeyCaller, nobodyAt, tokenCaller } from './auth/caller.ts'
import { readScopeTable } from './auth/scope-table.ts'
import type { A2aConfig, TrustedIssuerConfig } from './config.ts'
import type { OwnIssuer } from './keys/own-issuer.ts'

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
