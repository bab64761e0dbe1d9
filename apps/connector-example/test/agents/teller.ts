// Reports the text of a message, its proven sender, and how mentions travel.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export function handle({ parts, recipient_capabilities: capabilities }: NormalizedMessage, { identity }: AgentContext) {
  const identities = identity.list().map(({ subject, issuer, proof }) => `${subject} by ${issuer} (${proof.type})`)
  const { mention_relay: relay, agent_chain: chain } = capabilities
  const hop = chain ? `hop ${chain.hop} of ${chain.max_hops}` : 'no chain'
  return `heard: ${plainTextOf(parts)} | ${relay.kind} | ${hop} | ${identities.join(', ')}`
}
