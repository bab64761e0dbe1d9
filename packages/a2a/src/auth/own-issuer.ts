import { loadJose } from '@postern/http/tokens'
import type { OwnIssuer } from '../authenticate.ts'
import type { KeyRing } from './key-ring.ts'
import { keySetPath } from './key-routes.ts'

/** Our agents call each other like strangers do: by tokens of this gateway, for this gateway. */
export function createOwnIssuer(keys: KeyRing, origin: string): OwnIssuer {
  return {
    config: {
      issuer: origin,
      jwks: origin + keySetPath,
      audience: origin,
      algorithms: ['ES256'],
      require_at_jwt: false,
      require_scopes: true,
      require_dpop: false,
      single_use: false,
    },
    keys: {
      generation: () => 0,
      async find(header, token) {
        const { createLocalJWKSet } = await loadJose()
        return createLocalJWKSet({ keys: (await keys.published()).map(jwk => ({ ...jwk })) })(header, token)
      },
    },
  }
}
