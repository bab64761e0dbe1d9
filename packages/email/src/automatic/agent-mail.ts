import type { AgentChain } from '@postern/core'
import { fieldValues } from '../mail/header-scan.ts'
import type { ProvenMail } from '../proven/mail.ts'
import { hopField, parseHopField } from '../tokens/hop-field.ts'

/**
 * Mail of an agent elsewhere, as its own gateway declares: a proven author, and a hop field that the author's signature
 * covers.
 */
export interface AgentMail {
  /** The position in the chain; undefined when the chain is too long. */
  readonly chain: AgentChain | undefined
}

/**
 * Only a proven field counts, because others can add one to any mail. The length of the chain is the author's claim: a
 * false one only makes it shorter.
 */
export function readAgentMail(
  { header, authentication }: Pick<ProvenMail, 'header' | 'authentication'>,
  maxHops: number,
): AgentMail | undefined {
  const [value, ...others] = fieldValues(header, hopField.toLowerCase())
  const isCovered = authentication.signature?.covers.includes(hopField.toLowerCase())
  const mark = value === undefined || others.length > 0 ? undefined : parseHopField(value)
  if (!mark || !authentication.isVerified || !isCovered) return undefined
  const max_hops = Math.min(mark.maxHops ?? maxHops, maxHops)
  const { hop } = mark
  return { chain: hop > max_hops ? undefined : { hop, max_hops, is_final: hop === max_hops } }
}
