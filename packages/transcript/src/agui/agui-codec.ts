import type { Json } from '@postern/core'
import { bagName, bagOfRun } from '../bag.ts'
import { createCodec } from '../create-codec.ts'
import type { Dialect } from '../dialect.ts'
import { type AguiMessage, parseAguiMessage } from './agui-message.ts'
import { readAguiDrafts } from './read-agui-message.ts'
import { countAguiRun, writeAguiMessage } from './write-agui-message.ts'

const dialect: Dialect<AguiMessage> = {
  format: 'agui',
  parse: parseAguiMessage,
  toDrafts: readAguiDrafts,
  countRun: countAguiRun,
  toMessage: writeAguiMessage,
  readBag: ({ metadata }) => metadata?.[bagName],
  stripBag({ metadata = {}, ...message }) {
    const { [bagName]: _, ...rest } = metadata
    return { ...message, metadata: rest }
  },
  addBag: (message, run) => ({ ...message, metadata: { ...message.metadata, [bagName]: bagOfRun(run) as Json } }),
  essenceOf({ role, content = '', toolCalls = [], toolCallId, error, activityType }) {
    return { role, content, toolCalls, toolCallId, error, activityType } as Json
  },
}

/** Messages of AG-UI, and those with `binary` parts. */
export const aguiCodec = createCodec(dialect)
