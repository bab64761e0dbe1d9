import type { AgentContext, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Tells what it heard, from whom by what is proven, and how mentions travel. */
export function handle({ parts, recipient_capabilities: capabilities }: NormalizedMessage, { identity }: AgentContext) {
  const known = identity.list().map(({ subject, issuer, proof }) => `${subject} by ${issuer} (${proof.type})`)
  const { mention_relay: relay, agent_chain: chain } = capabilities
  const hop = chain ? `hop ${chain.hop} of ${chain.max_hops}` : 'no chain'
  return `heard: ${plainTextOf(parts)} | ${relay.kind} | ${hop} | ${known.join(', ')}`
}
