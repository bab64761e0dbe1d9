// Chooses the credentials for each call to another agent and signs its token.
import { defaultScopes, loadJose } from '@postern/http/tokens'
import type { System } from '@postern/message'
import { randomHex } from '@postern/message'
import type { AgentCallOptions, PeerCredentials } from '@postern/pipeline'
import type { A2aConfig } from '../config.ts'
import type { OwnKeyRing } from '../keys/own-keys.ts'
import type { ClientTokens } from './client-credentials.ts'
import type { AgentInterface } from './exchange/bindings.ts'
import type { CredentialSource } from './exchange/exchange.ts'

type Peer = A2aConfig['client']['peers'][number]

type CallerCredentials = Pick<AgentCallOptions, 'callerName' | 'credentials'> & {
  readonly peer?: PeerCredentials | undefined
}

const noCredentials: CredentialSource = async () => ({})

/**
 * Creates the function that chooses the credentials by which our agents authenticate to a peer. Only the called address and our configuration decide, never the
 * peer's request, so that a token reaches only its audience.
 */
export function createPeerCredentials(
  peers: A2aConfig['client']['peers'],
  { signToken, tokens }: { readonly signToken: SignToken; readonly tokens: ClientTokens },
) {
  const peersByOrigin = new Map(peers.map(peer => [peer.origin, peer]))
  /** Returns the credentials of our agent for one interface. The call uses `fallback` if the peer rejects `initial`. */
  return (
    agentInterface: AgentInterface,
    { callerName: agent, peer: peerCredentials, credentials = 'asked' }: CallerCredentials,
  ) => {
    const { origin } = new URL(agentInterface.url)
    const hasOwnCredentials =
      peerCredentials?.token !== undefined ||
      peerCredentials?.api_key !== undefined ||
      peerCredentials?.oauth2 !== undefined
    const peer: Readonly<Partial<Peer>> | undefined = hasOwnCredentials ? peerCredentials : peersByOrigin.get(origin)
    const credentialSource: CredentialSource = async () => {
      if (peer?.api_key) return { [peer.api_key.header]: peer.api_key.key }
      if (peerCredentials?.oauth2)
        return { authorization: `Bearer ${await tokens.find(agentInterface, peerCredentials.oauth2)}` }
      const audience = peer?.audience ?? [origin, agentInterface.url]
      return { authorization: `Bearer ${peer?.token ?? (await signToken({ agent, audience }))}` }
    }
    const renewedCredentials: CredentialSource = async () => {
      if (peerCredentials?.oauth2) tokens.forget(agentInterface, peerCredentials.oauth2)
      return credentialSource()
    }
    const initial =
      agentInterface.needsCredential || peer || credentials === 'always' ? credentialSource : noCredentials
    return {
      initial,
      fallback: peerCredentials?.oauth2
        ? renewedCredentials
        : initial === credentialSource
          ? undefined
          : credentialSource,
    }
  }
}

/** The lifetime of a token, in seconds. It is long enough for clocks that differ, and too short to be worth stealing. */
const lifetimeSeconds = 120
const { SendMessage, SendStreamingMessage, GetTask, CancelTask } = defaultScopes
const scope = [SendMessage, SendStreamingMessage, GetTask, CancelTask].join(' ')

/** Signs a short-lived token for one audience. `agent` is the local name of our calling agent. */
type SignToken = (claims: { readonly agent: string; readonly audience: string | readonly string[] }) => Promise<string>

/** Creates the signer of tokens. The gateway issues its agents' credentials (RFC 7519), and peers trust its origin and its published keys. */
export function createTokenSigner(
  keys: OwnKeyRing,
  { origin }: { readonly origin: string },
  system: Pick<System, 'now' | 'randomBytes'>,
): SignToken {
  return async ({ agent, audience }) => {
    const { SignJWT } = await loadJose()
    const { privateKey, kid } = await keys.findCurrent()
    const seconds = Math.floor(system.now() / 1000)
    return (
      new SignJWT({ scope })
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
        .setIssuer(origin)
        // The subject is the plain name, because peers derive the address `@agent@host` only from a plain name and the host of the issuer.
        .setSubject(agent)
        .setAudience(typeof audience === 'string' ? audience : [...audience])
        .setIssuedAt(seconds)
        .setNotBefore(seconds)
        .setExpirationTime(seconds + lifetimeSeconds)
        .setJti(randomHex(system, 16))
        .sign(privateKey)
    )
  }
}
