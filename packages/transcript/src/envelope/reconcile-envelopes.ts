import type { EntryBody, TranscriptEntry } from '../entry.ts'
import { diffJson } from '../json-difference.ts'
import type { AgentMessageEnvelope } from './envelope.ts'
import { envelopeCodec } from './envelope-codec.ts'
import { normalizeEnvelope } from './normalize-envelope.ts'

/**
 * A whole list against what is stored: messages that stand at the same place and say the same are the entries that are there, bags name
 * theirs, and only what is neither is new.
 */
export function reconcileEnvelopes(
  stored: readonly TranscriptEntry[],
  messages: readonly unknown[],
  context: { readonly thread_id: string; readonly at: string; newId(): string },
): readonly EntryBody[] {
  const written = envelopeCodec.write(stored)
  const wanted = messages.map(message => normalizeEnvelope(message))
  const end = wanted.findIndex((message, index) => !isSame(message, written[index]))
  const same = end < 0 ? wanted.length : end
  const byId = new Map(stored.map(entry => [entry.entry_id, entry]))
  const rest = envelopeCodec.read(messages.slice(same), { ...context, find: id => byId.get(id) })
  return [...stored.slice(0, same), ...rest]
}

function isSame(a: AgentMessageEnvelope, b: AgentMessageEnvelope | undefined): boolean {
  return b !== undefined && diffJson(a, b) === undefined
}
