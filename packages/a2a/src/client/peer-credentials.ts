import type { Platform } from '@postern/core'
import { randomHex } from '@postern/core'
import { defaultScopes, loadJose } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'
import type { OwnKeyRing } from '../keys/own-keys.ts'
import type { AgentInterface } from './exchange/bindings.ts'
import type { CredentialSource } from './exchange/exchange.ts'

const none: CredentialSource = async () => ({})

/**
 * How our agents authenticate to a peer. Only the called address and our configuration decide, never the peer's request, so that a token
 * reaches only its audience.
 */
export function createPeerCredentials(peers: A2aConfig['client']['peers'], signToken: SignToken) {
  const known = new Map(peers.map(peer => [peer.origin, peer]))
  /** Credentials of our agent for one interface: the first choice, and the second if the first is refused. */
  return (to: AgentInterface, agent: string) => {
    const { origin } = new URL(to.url)
    const peer = known.get(origin)
    const full: CredentialSource = async () => {
      if (peer?.api_key) return { [peer.api_key.header]: peer.api_key.key }
      const audience = peer?.audience ?? [origin, to.url]
      return { authorization: `Bearer ${peer?.token ?? (await signToken({ agent, audience }))}` }
    }
    return { full, initial: to.needsCredential || peer ? full : none }
  }
}

/** Long enough for differing clocks, too short to be worth stealing. */
const lifeSeconds = 120
const { SendMessage, SendStreamingMessage, GetTask, CancelTask } = defaultScopes
const scope = [SendMessage, SendStreamingMessage, GetTask, CancelTask].join(' ')

/** Makes a short-lived token for one audience. `agent` is the local name of our calling agent. */
type SignToken = (claims: { readonly agent: string; readonly audience: string | readonly string[] }) => Promise<string>

/** The gateway issues its agents' credentials (RFC 7519). Peers trust its origin and its published keys. */
export function createTokenSigner(
  keys: OwnKeyRing,
  { origin }: { readonly origin: string },
  platform: Pick<Platform, 'now' | 'randomBytes'>,
): SignToken {
  // At the issuer's host, which a peer can verify. `handle_host` may be another.
  const host = new URL(origin).hostname
  return async ({ agent, audience }) => {
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
  }
}
