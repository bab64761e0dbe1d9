import type { Json } from '@postern/core'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect } from '../codec/dialect.ts'
import { markerName, markerOfRun } from '../codec/origin-marker.ts'
import { type AguiMessage, parseAguiMessage } from './message.ts'
import { readAguiDrafts } from './read.ts'
import { countAguiRun, writeAguiMessage } from './write.ts'

const dialect: Dialect<AguiMessage> = {
  format: 'agui',
  parse: parseAguiMessage,
  toDrafts: readAguiDrafts,
  countRun: countAguiRun,
  toMessage: writeAguiMessage,
  readMarker: ({ metadata }) => metadata?.[markerName],
  stripMarker({ metadata = {}, ...message }) {
    const { [markerName]: _, ...rest } = metadata
    return { ...message, metadata: rest }
  },
  addMarker: (message, run) => ({
    ...message,
    metadata: { ...message.metadata, [markerName]: markerOfRun(run) as Json },
  }),
  essenceOf({ role, content = '', toolCalls = [], toolCallId, error, activityType }) {
    return { role, content, toolCalls, toolCallId, error, activityType } as Json
  },
}

/** Messages of AG-UI, also those with `binary` parts. */
export const aguiCodec = createCodec(dialect)
