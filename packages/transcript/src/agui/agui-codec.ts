import type { Json } from '@postern/core'
import { createCodec } from '../create-codec.ts'
import type { Dialect } from '../dialect.ts'
import { markerName, markerOfRun } from '../origin-marker.ts'
import { type AguiMessage, parseAguiMessage } from './agui-message.ts'
import { readAguiDrafts } from './read-agui-message.ts'
import { countAguiRun, writeAguiMessage } from './write-agui-message.ts'

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

/** Messages of AG-UI, and those with `binary` parts. */
export const aguiCodec = createCodec(dialect)
