import type { Json } from '@postern/core'
import { buildEnvelope } from './build.ts'
import type { AgentMessageEnvelope } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

/**
 * For a provider that refuses two messages of one role in a row: such neighbours become one `multimodal_part` whose `payload.parts` holds
 * the originals unchanged. Twice is the same as once.
 * @throws Rejection as `normalizeEnvelope`
 */
export function coalesceEnvelopes(values: readonly unknown[]): readonly AgentMessageEnvelope[] {
  const groups: AgentMessageEnvelope[][] = []
  for (const value of values) {
    const envelope = normalizeEnvelope(value)
    const last = groups.at(-1)
    if (last?.[0]?.role === envelope.role) last.push(envelope)
    else groups.push([envelope])
  }
  return groups.map(group => mergeGroup(group))
}

function mergeGroup(group: readonly AgentMessageEnvelope[]): AgentMessageEnvelope {
  const [first] = group
  if (!first) throw new TypeError('a group has at least one message')
  if (group.length === 1) return first
  const texts = group.map(({ content }) => textOfEnvelopeContent(content)).filter(text => text !== '')
  return buildEnvelope('multimodal_part', {
    role: first.role,
    content: texts.join('\n\n'),
    payload: { parts: group },
    metadata: first.metadata,
  })
}

/** The text of a content of blocks: what stands in their `text` members. */
export function textOfEnvelopeContent(content: Json): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content))
    return content
      .map(textOfEnvelopeContent)
      .filter(text => text !== '')
      .join('\n\n')
  const text = content !== null && typeof content === 'object' ? (content as { text?: Json }).text : undefined
  return typeof text === 'string' ? text : ''
}
