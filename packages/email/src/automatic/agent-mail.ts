import type { AgentChain } from '@postern/core'
import { fieldValues } from '../mail/header-scan.ts'
import type { ProvenMail } from '../proven/mail.ts'
import { hopField, parseHopField } from '../tokens/hop-field.ts'

/** Mail that an agent elsewhere wrote, as its own gateway says: a proven author, and a hop field that his signature covers. */
export interface AgentMail {
  /** Where it stands; undefined when the chain has become longer than it may be. */
  readonly chain: AgentChain | undefined
}

/**
 * Only what is proven counts: who adds the field to somebody else's mail is not believed. How far the chain has come is the author's claim,
 * which can make it shorter and nothing else.
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
