// Finds the caller by the credential of a request.
import type { Challenger, Credential, RequestHead } from '@postern/http/tokens'
import { admitCredential, createTokenVerifier, readCredential } from '@postern/http/tokens'
import { Rejection } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import { createApiKeyCheck } from './auth/api-keys.ts'
import type { Caller } from './auth/caller.ts'
import { createAnonymousCaller, createApiKeyCaller, createTokenCaller } from './auth/caller.ts'
import { findSharedHosts, listIssuers } from './auth/issuers.ts'
import { readScopeTable } from './auth/schemes.ts'
import type { A2aConfig } from './config.ts'
import type { OwnIssuer } from './keys/own-keys.ts'

type AuthDeps = Pick<ChannelContext, 'system' | 'store'> & {
  readonly agents: Pick<ChannelContext['agents'], 'domain' | 'origin'>
}

/**
 * Creates the function that finds the caller by an API key or a token. Callers without credentials are anonymous if the configuration allows it.
 * Tokens follow the rules of all channels.
 */
export function createVerifyCaller(
  config: A2aConfig,
  gateway: AuthDeps,
  challenger: Challenger,
  ownIssuer?: OwnIssuer,
): VerifyCaller {
  const { auth } = config
  const { system, store, agents } = gateway
  const table = readScopeTable(config)
  const findApiKey = createApiKeyCheck(auth.api_keys)
  const apiKeyHeader = auth.api_keys.length > 0 ? auth.api_key_header : undefined
  const anonymous = auth.anonymous ? createAnonymousCaller(agents.domain) : undefined
  const issuers = listIssuers(auth.issuers, gateway, ownIssuer)
  const sharedHosts = findSharedHosts(issuers, agents.domain, ownIssuer)
  const verifyBearer = createTokenVerifier<Caller>(
    {
      issuers,
      rules: auth,
      scopes: table,
      describe: (token, scopes) =>
        createTokenCaller(token, { scopes, isHostShared: sharedHosts.has(token.issuer.config.issuer) }),
    },
    { system, store, origin: agents.origin },
  )

  function admitAnonymous(): Caller {
    if (anonymous) return anonymous
    throw new Rejection('unsigned', 'Cannot take request: credentials are missing')
  }

  function admit(credential: Credential, requestHead: RequestHead): Promise<Caller> | Caller {
    if (credential.kind === 'none') return admitAnonymous()
    if (credential.kind === 'token') return verifyBearer(credential, requestHead)
    return createApiKeyCaller(findApiKey(credential.key), { scopeTable: table, ...agents })
  }

  return requestHead =>
    admitCredential(
      () => readCredential(requestHead.headers, apiKeyHeader),
      credential => admit(credential, requestHead),
      challenger,
    )
}

/**
 * Finds the caller by the headers alone. A DPoP proof also needs the method and path.
 * @throws CredentialRejection `unsigned` without a credential, `signature_invalid` or `expired` with a bad one; Unavailable
 */
export type VerifyCaller = (requestHead: RequestHead) => Promise<Caller> | Caller
