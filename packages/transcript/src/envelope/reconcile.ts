import type { CodecFinding, ReadContext } from '../codec/codec.ts'
import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import { diffJson } from '../json/difference.ts'
import { envelopeCodec } from './codec.ts'
import type { AgentMessageEnvelope } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

/**
 * A whole list against what is stored: messages that stand at the same place and say the same are the entries that are there, bags name
 * theirs, and only what is neither is new. What is odd about a message is reported with its place.
 */
export function reconcileEnvelopes(
  stored: readonly TranscriptEntry[],
  messages: readonly unknown[],
  context: Pick<ReadContext, 'thread_id' | 'at' | 'newId' | 'report'>,
): readonly EntryBody[] {
  const written = envelopeCodec.write(stored)
  const findings: CodecFinding[] = []
  const wanted = messages.map((value, index) =>
    normalizeEnvelope(value, { report: (code, message) => findings.push({ code, message, index }) }),
  )
  const end = wanted.findIndex((message, index) => !isSame(message, written[index]))
  const same = end < 0 ? wanted.length : end
  const byId = new Map(stored.map(entry => [entry.entry_id, entry]))
  // Of the rest the reading tells it, with what it finds besides.
  const told = findings.filter(({ index }) => index < same)
  const rest = envelopeCodec.read(messages.slice(same), {
    ...context,
    find: id => byId.get(id),
    report: finding => told.push({ ...finding, index: same + finding.index }),
  })
  for (const finding of told) context.report?.(finding)
  return [...stored.slice(0, same), ...rest]
}

function isSame(a: AgentMessageEnvelope, b: AgentMessageEnvelope | undefined): boolean {
  return b !== undefined && diffJson(a, b) === undefined
}
