import type { Json } from '@postern/core'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect } from '../codec/dialect.ts'
import { markerName, markerOfRun } from '../codec/origin-marker.ts'
import { parseStoreMessage, type StoreMessage } from './message.ts'
import { readStoreDraft } from './read.ts'
import { writeStoreMessage } from './write.ts'

const dialect: Dialect<StoreMessage> = {
  format: 'store',
  parse: parseStoreMessage,
  toDrafts: (message, reading) => [readStoreDraft(message, reading)],
  countRun: () => 1,
  toMessage: ([entry]) => writeStoreMessage(entry),
  readMarker: message => message[markerName],
  stripMarker({ [markerName]: _, ...message }) {
    return message as StoreMessage
  },
  addMarker: (message, run) => ({ ...message, [markerName]: markerOfRun(run) as Json }),
  // When, and in which turn, is no part of what is said: an export from before turns were named is known all the same.
  essenceOf: ({ [markerName]: _, timestamp: __, turn_id: ___, ...message }) => message as Json,
}

/** Messages of a message store. */
export const storeCodec = createCodec(dialect)
