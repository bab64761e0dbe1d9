import type { A2aConfig } from '../config.ts'
import type { AgentInterface } from './exchange/agent-interface.ts'
import type { CredentialSource } from './exchange/exchange.ts'
import type { OwnTokens } from './own-token.ts'

interface PeerCredentials {
  /** For one agent of ours at one interface: what is shown first, and what when that is not enough. */
  for(to: AgentInterface, agent: string): { readonly initial: CredentialSource; readonly full: CredentialSource }
}

const none: CredentialSource = async () => ({})

/**
 * What proves us to a peer. It follows from the address that is called and from our own configuration, never from what the far side
 * asks for, so that no token gets past its audience.
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
