import type { AuthScheme, Challenger } from '@postern/http/tokens'
import { createChallenger, listTokenSchemes } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'

/** Challenges that offer exactly what the gateway enforces. */
export function openChallenger({ auth }: Pick<A2aConfig, 'auth'>, domain: string): Challenger {
  return createChallenger({ realm: domain, schemes: offeredSchemes(auth), apiKeyHeader: auth.api_key_header })
}

/** The enforced schemes; Bearer if none is configured. */
export function offeredSchemes({ issuers, api_keys }: A2aConfig['auth']): readonly AuthScheme[] {
  const isNothing = issuers.length === 0 && api_keys.length === 0
  return [...listTokenSchemes(issuers, isNothing), ...(api_keys.length > 0 ? (['ApiKey'] as const) : [])]
}
