// Offers callers the authentication schemes and scopes that the gateway enforces.
import type { AuthScheme, Challenger, ScopeTable } from '@postern/http/tokens'
import { createChallenger, defaultScopes, listTokenSchemes } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'

export function readScopeTable({ auth }: Pick<A2aConfig, 'auth'>): ScopeTable {
  return { ...defaultScopes, ...auth.scopes }
}

/** Creates challenges that offer exactly the enforced schemes. */
export function openChallenger({ auth }: Pick<A2aConfig, 'auth'>, domain: string): Challenger {
  return createChallenger({ realm: domain, schemes: offeredSchemes(auth), apiKeyHeader: auth.api_key_header })
}

/** Returns the enforced schemes, or Bearer if none is configured. */
export function offeredSchemes({ issuers, api_keys }: A2aConfig['auth']): readonly AuthScheme[] {
  const hasNoCredentials = issuers.length === 0 && api_keys.length === 0
  return [
    ...listTokenSchemes(issuers, { acceptsBearer: hasNoCredentials }),
    ...(api_keys.length > 0 ? (['ApiKey'] as const) : []),
  ]
}
