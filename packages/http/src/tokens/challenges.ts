// Writes the challenges by which an endpoint refuses callers (RFC 6750, RFC 9110, RFC 9449).
import { Rejection } from '@postern/message'
import type { IssuerRules } from './issuer-rules.ts'
import { tokenAlgorithms } from './issuer-rules.ts'

/** The error of an invalid proof of possession, for a DPoP challenge (RFC 9449 §7.1). */
export class ProofRejection extends Rejection {
  /** The current nonce, if the nonce of the proof is the reason of the refusal (RFC 9449 §9). */
  readonly nonce: string | undefined

  constructor(reason: string, { nonce, cause }: { readonly nonce?: string; readonly cause?: unknown } = {}) {
    super('signature_invalid', `Cannot take request: ${reason}`, { cause })
    this.nonce = nonce
  }
}

/** The scheme of a credential, as in a challenge (RFC 9110 §11.3). `ApiKey` is our own, because no registered scheme fits. */
export type AuthScheme = 'Bearer' | 'DPoP' | 'ApiKey'

/** A refusal of a caller with its challenge, for all channels. */
export class CredentialRejection extends Rejection {
  readonly headers: Readonly<Record<string, string>>

  constructor(refusal: Rejection, headers: Readonly<Record<string, string>>) {
    super(refusal.code, refusal.message, { cause: refusal.cause ?? refusal })
    this.headers = headers
  }
}

/** The challenges of an endpoint. */
export interface Challenger {
  /** Returns a 401 (RFC 6750 §3, RFC 9449 §7.1). It names only the schemes if the request had no credential. */
  refuse(refusal: Rejection, scheme: AuthScheme): CredentialRejection
  /** Returns a 403 that names the missing scope (RFC 6750 §3.1). */
  refuseScope(scope: string, scheme: AuthScheme): CredentialRejection
}

interface ChallengeOptions {
  readonly realm: string
  /** The schemes for a caller without a credential. */
  readonly schemes: readonly AuthScheme[]
  readonly apiKeyHeader?: string
}

export function createChallenger({ realm: name, schemes, apiKeyHeader = '' }: ChallengeOptions): Challenger {
  const realm = `realm="${name}"`
  const parameters: Readonly<Record<AuthScheme, string>> = {
    Bearer: realm,
    DPoP: `${realm}, algs="${tokenAlgorithms.join(' ')}"`,
    ApiKey: `${realm}, header="${apiKeyHeader}"`,
  }
  const challenges = schemes.map(scheme => `${scheme} ${parameters[scheme]}`).join(', ')
  const challenge = (scheme: AuthScheme, error: string) => `${scheme} ${parameters[scheme]}, error="${error}"`
  return {
    refuse(refusal, scheme) {
      if (refusal.code === 'unsigned') return new CredentialRejection(refusal, { 'www-authenticate': challenges })
      if (!(refusal instanceof ProofRejection)) {
        return new CredentialRejection(refusal, { 'www-authenticate': challenge(scheme, 'invalid_token') })
      }
      const { nonce } = refusal
      const error = nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
      const headers = { 'www-authenticate': challenge('DPoP', error), ...(nonce && { 'dpop-nonce': nonce }) }
      return new CredentialRejection(refusal, headers)
    },
    refuseScope(scope, scheme) {
      const refusal = new Rejection('forbidden', `Cannot take request: scope "${scope}" is missing`)
      const header = `${challenge(scheme, 'insufficient_scope')}, scope="${scope}"`
      return new CredentialRejection(refusal, { 'www-authenticate': header })
    },
  }
}

/** Lists the schemes for tokens of these issuers. `acceptsBearer` adds Bearer for callers with static tokens, and for a gateway without issuers. */
export function listTokenSchemes(
  issuers: readonly IssuerRules[],
  { acceptsBearer }: { readonly acceptsBearer: boolean },
): readonly AuthScheme[] {
  const needsProof = issuers.some(({ require_dpop }) => require_dpop)
  const listsBearer = issuers.some(({ require_dpop }) => !require_dpop) || acceptsBearer
  return [...(listsBearer ? (['Bearer'] as const) : []), ...(needsProof ? (['DPoP'] as const) : [])]
}
