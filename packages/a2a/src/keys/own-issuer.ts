import type { IssuerKeys } from '@postern/http/tokens'
import { loadJose } from '@postern/http/tokens'
import type { TrustedIssuerConfig } from '../config.ts'
import type { OwnKeyRing } from './ring.ts'
import { ownKeySetPath } from './routes.ts'

/** Our agents call each other like strangers: with tokens of this gateway for this gateway. */
export function createOwnIssuer(keys: OwnKeyRing, origin: string): OwnIssuer {
  return {
    config: {
      issuer: origin,
      jwks: origin + ownKeySetPath,
      audience: origin,
      algorithms: ['ES256'],
      require_at_jwt: false,
      require_scopes: true,
      require_dpop: false,
      single_use: false,
    },
    keys: {
      generation: () => 0,
      isConfigured: true,
      async find(header, token) {
        const { createLocalJWKSet } = await loadJose()
        return createLocalJWKSet({ keys: (await keys.published()).map(jwk => ({ ...jwk })) })(header, token)
      },
    },
  }
}

/** The gateway itself is an issuer without configuration. */
export interface OwnIssuer {
  readonly config: TrustedIssuerConfig
  readonly keys: IssuerKeys
}
