// Recognizes mail of agents behind other gateways, and its position in a chain of agents.
import type { AgentChain } from '@postern/message'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { fieldValues } from '../mail/header.ts'
import { hopField, parseHopField } from '../tokens/hop-field.ts'

/**
 * Mail of an agent that its own gateway declares. Its author is proven, and the author's signature covers its hop
 * field.
 */
export interface AgentMail {
  /** The position in the chain, or undefined if the chain is too long. */
  readonly chain: AgentChain | undefined
}

/**
 * Reads the declaration of an agent. Only a proven field counts, because others can add one to any mail. The author
 * claims the length of the chain: a false claim only makes the chain shorter.
 */
export function readAgentMail(
  { header, authentication }: Pick<ProvenMail, 'header' | 'authentication'>,
  maxHops: number,
): AgentMail | undefined {
  const [value, ...repeatedValues] = fieldValues(header, hopField.toLowerCase())
  const isCovered = authentication.signature?.covers.includes(hopField.toLowerCase())
  const mark = value === undefined || repeatedValues.length > 0 ? undefined : parseHopField(value)
  if (!mark || !authentication.isVerified || !isCovered) return undefined
  const max_hops = Math.min(mark.maxHops ?? maxHops, maxHops)
  const { hop } = mark
  return { chain: hop > max_hops ? undefined : { hop, max_hops, is_final: hop === max_hops } }
}
