// Recognizes mail of agents behind other gateways, and reads its position in a chain of agents.
import type { AgentChain } from '@postern/message'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { fieldValues } from '../mail/header.ts'
import { hopField, parseHopField } from '../tokens/hop-field.ts'

/**
 * Mail of an agent, as the agent's own gateway declares it. The author is proven, and the author's signature covers the
 * hop field.
 */
export interface AgentMail {
  /** The position in the chain, or undefined if the chain is too long. */
  readonly chain: AgentChain | undefined
}

/**
 * Reads the declaration of an agent. Only a signed field counts, because anyone can add a field to a mail. The author
 * claims the length of the chain, and a false claim only makes the chain shorter.
 */
export function readAgentMail(
  { header, authentication }: Pick<ProvenMail, 'header' | 'authentication'>,
  maxHops: number,
): AgentMail | undefined {
  const [value, ...repeatedValues] = fieldValues(header, hopField.toLowerCase())
  const isCovered = authentication.signature?.covers.includes(hopField.toLowerCase())
  const hopCount = value === undefined || repeatedValues.length > 0 ? undefined : parseHopField(value)
  if (!hopCount || !authentication.isVerified || !isCovered) return undefined
  const max_hops = Math.min(hopCount.maxHops ?? maxHops, maxHops)
  const { hop } = hopCount
  return { chain: hop > max_hops ? undefined : { hop, max_hops, is_final: hop === max_hops } }
}
