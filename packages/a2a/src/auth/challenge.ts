import { Rejection } from '@postern/core'
import type { A2aConfig } from '../config.ts'
import { tokenAlgorithms } from '../config.ts'
import { ProofRejection } from './credential.ts'

/** How a credential is presented; the name in a challenge (RFC 9110 §11.3). `ApiKey` is ours: no registered scheme fits. */
export type AuthScheme = 'Bearer' | 'DPoP' | 'ApiKey'

/** A refusal of a caller, with what every binding tells it by: the challenge. */
export class CredentialRejection extends Rejection {
  readonly headers: Readonly<Record<string, string>>

  constructor(refused: Rejection, headers: Readonly<Record<string, string>>) {
    super(refused.code, refused.message, { cause: refused.cause ?? refused })
    this.headers = headers
  }
}

/** Which challenges this house gives. */
export interface Challenger {
  /** A 401 (RFC 6750 §3, RFC 9449 §7.1): nothing but the schemes when no credential came at all. */
  refuse(refused: Rejection, scheme: AuthScheme): CredentialRejection
  /** A 403 that names the scope that is missing (RFC 6750 §3.1). */
  refuseScope(scope: string, scheme: AuthScheme): CredentialRejection
}

export function createChallenger({ auth }: Pick<A2aConfig, 'auth'>, domain: string): Challenger {
  const realm = `realm="${domain}"`
  const parameters: Readonly<Record<AuthScheme, string>> = {
    Bearer: realm,
    DPoP: `${realm}, algs="${tokenAlgorithms.join(' ')}"`,
    ApiKey: `${realm}, header="${auth.api_key_header}"`,
  }
  const all = offeredSchemes(auth)
    .map(scheme => `${scheme} ${parameters[scheme]}`)
    .join(', ')
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

/** Exactly what is enforced; where nothing is configured, Bearer is what is missing. */
export function offeredSchemes({ issuers, api_keys }: A2aConfig['auth']): readonly AuthScheme[] {
  const isBearer = issuers.some(({ require_dpop }) => !require_dpop) || (issuers.length === 0 && api_keys.length === 0)
  return [
    ...(isBearer ? (['Bearer'] as const) : []),
    ...(issuers.some(({ require_dpop }) => require_dpop) ? (['DPoP'] as const) : []),
    ...(api_keys.length > 0 ? (['ApiKey'] as const) : []),
  ]
}
