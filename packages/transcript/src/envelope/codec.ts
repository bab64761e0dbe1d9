import type { Json } from '@postern/core'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect } from '../codec/dialect.ts'
import { markerName, markerOfRun } from '../codec/origin-marker.ts'
import { isJsonMap, type JsonMap } from '../json/difference.ts'
import type { AgentMessageEnvelope } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'
import { readEnvelopeDraft } from './read.ts'
import { writeEnvelope } from './write.ts'

const members: ReadonlySet<string> = new Set([
  'schema',
  'version',
  'type',
  'role',
  'content',
  'payload',
  'data',
  'metadata',
])

const dialect: Dialect<AgentMessageEnvelope> = {
  format: 'envelope',
  parse: (value, report) => normalizeEnvelope(value, { report }),
  toDrafts: (message, reading) => [readEnvelopeDraft(message, reading)],
  countRun: () => 1,
  toMessage: ([entry]) => writeEnvelope(entry),
  listDropped(value) {
    if (!isJsonMap(value)) return undefined
    const kept: JsonMap = normalizeEnvelope(value)
    const dropped = Object.entries(value).filter(([name]) => !members.has(name) && !Object.hasOwn(kept, name))
    return dropped.length > 0 ? Object.fromEntries(dropped) : undefined
  },
  readMarker: ({ metadata }) => metadata[markerName],
  stripMarker(message) {
    const { [markerName]: _, ...metadata } = message.metadata
    return { ...message, metadata }
  },
  addMarker: (message, run) => ({
    ...message,
    metadata: { ...message.metadata, [markerName]: markerOfRun(run) as Json },
  }),
  essenceOf: ({ type, role, content, payload }) => ({ type, role, content, payload }),
  dropOwnId({ id: _, ...message }) {
    return message
  },
}

/** Message envelopes. It reads rows and envelopes of any age and writes canonical envelopes. */
export const envelopeCodec = createCodec(dialect)
