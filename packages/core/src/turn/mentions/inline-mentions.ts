import { isFinalHop } from '../../message/address/chain.ts'
import { chooseMentions } from '../../message/address/mention.ts'
import type { NormalizedMessage } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import { plainTextOf } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'

/**
 * Those an answer mentions and does not name: where a mention is what stands in the text (MN-8.1, `inline`), one last line
 * names them, so that the platform wakes them. On the final hop nobody is woken. Pure.
 */
export function nameLocalAgents(
  { recipient, recipient_capabilities: { mention_relay: relay, agent_chain } }: NormalizedMessage,
  { mentions = [], parts = [], status }: PartialResponse,
  maxMentions: number,
): Part[] {
  const isSaid = status !== 'failed' && status !== 'rejected'
  if (relay.kind !== 'inline' || !isSaid || isFinalHop(agent_chain)) return []
  const text = plainTextOf(parts)
  // The sender is the platform, not one of those who read.
  const localAgents = chooseMentions(mentions, { without: [recipient], most: maxMentions })
  const missing = localAgents.filter(address => !isNamedIn(text, address))
  if (missing.length === 0) return []
  // Some readers put the texts of an answer together as they are.
  const gap = text === '' ? '' : '\n\n'
  return [{ kind: 'text', mime: 'text/plain', content: gap + missing.join(' ') }]
}

function isNamedIn(text: string, address: string): boolean {
  const literal = address.replace(/[^\p{L}\p{N}@]/gu, '\\$&')
  return new RegExp(`(?<![\\w.@/-])${literal}(?![\\w-]|[.@]\\w)`, 'i').test(text)
}
