import type { Platform } from '@postern/core'
import { randomHex } from '@postern/core'
import { defaultScopes, loadJose } from '@postern/http/tokens'
import type { OwnKeyRing } from '../keys/ring.ts'

interface OwnTokenClaims {
  /** The local name of the calling agent. */
  readonly agent: string
  readonly audience: string | readonly string[]
}

export interface OwnTokens {
  /** A short-lived token that names our calling agent, for one audience. */
  sign(plan: OwnTokenClaims): Promise<string>
}

/** Long enough for differing clocks, too short to be worth stealing. */
const lifeSeconds = 120
const { SendMessage, SendStreamingMessage, GetTask, CancelTask } = defaultScopes
const scope = [SendMessage, SendStreamingMessage, GetTask, CancelTask].join(' ')

/** The gateway issues its agents' credentials (RFC 7519). Peers trust its origin and its published keys. */
export function createOwnTokens(
  keys: OwnKeyRing,
  { origin }: { readonly origin: string },
  platform: Pick<Platform, 'now' | 'randomBytes'>,
): OwnTokens {
  // At the issuer's host, which a peer can verify. `handle_host` may be another.
  const host = new URL(origin).hostname
  return {
    async sign({ agent, audience }) {
      const { SignJWT } = await loadJose()
      const { privateKey, kid } = await keys.current()
      const seconds = Math.floor(platform.now() / 1000)
      return new SignJWT({ scope })
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
        .setIssuer(origin)
        .setSubject(`${agent}@${host}`)
        .setAudience(typeof audience === 'string' ? audience : [...audience])
        .setIssuedAt(seconds)
        .setNotBefore(seconds)
        .setExpirationTime(seconds + lifeSeconds)
        .setJti(randomHex(platform, 16))
        .sign(privateKey)
    },
  }
}
