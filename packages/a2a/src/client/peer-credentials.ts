import type { A2aConfig } from '../config.ts'
import type { AgentInterface } from './exchange/agent-interface.ts'
import type { CredentialSource } from './exchange/exchange.ts'
import type { OwnTokens } from './own-token.ts'

interface PeerCredentials {
  /** Credentials of our agent for one interface: the first choice, and the second if the first is refused. */
  for(to: AgentInterface, agent: string): { readonly initial: CredentialSource; readonly full: CredentialSource }
}

const none: CredentialSource = async () => ({})

/**
 * How our agents authenticate to a peer. Only the called address and our configuration decide, never the peer's request, so that a token
 * reaches only its audience.
 */
export function createPeerCredentials(peers: A2aConfig['client']['peers'], tokens: OwnTokens): PeerCredentials {
  const known = new Map(peers.map(peer => [peer.origin, peer]))
  return {
    for(to, agent) {
      const { origin } = new URL(to.url)
      const peer = known.get(origin)
      const full: CredentialSource = async () => {
        if (peer?.api_key) return { [peer.api_key.header]: peer.api_key.key }
        const audience = peer?.audience ?? [origin, to.url]
        return { authorization: `Bearer ${peer?.token ?? (await tokens.sign({ agent, audience }))}` }
      }
      return { full, initial: to.needsCredential || peer ? full : none }
    },
  }
}
