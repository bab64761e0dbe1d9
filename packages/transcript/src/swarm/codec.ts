import type { Json } from '@postern/core'
import type { ReadContext } from '../codec/codec.ts'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect } from '../codec/dialect.ts'
import { markerName, markerOfRun } from '../codec/origin-marker.ts'
import type { EntryBody } from '../entry/entry.ts'
import { encodeSwarmImages, parseSwarmMessage, type SwarmImage, type SwarmMessage } from './message.ts'
import { readSwarmDrafts } from './read.ts'
import { countSwarmRun, writeSwarmMessage } from './write.ts'

const dialect: Dialect<SwarmMessage> = {
  format: 'swarm',
  parse: parseSwarmMessage,
  toDrafts: readSwarmDrafts,
  countRun: countSwarmRun,
  toMessage: writeSwarmMessage,
  readMarker: ({ payload }) => payload?.[markerName],
  stripMarker: message => (message.payload ? { ...message, payload: withoutMarker(message.payload) } : message),
  addMarker: (message, run) => ({
    ...message,
    payload: { ...message.payload, [markerName]: markerOfRun(run) as Json },
  }),
  // A marker turns a payload of null, or an absent one, into an object.
  essenceOf: ({ payload, ...message }) => ({ ...message, payload: withoutMarker(payload ?? {}) }) as Json,
}

function withoutMarker({
  [markerName]: _,
  ...payload
}: NonNullable<SwarmMessage['payload']>): NonNullable<SwarmMessage['payload']> {
  return payload
}

const codec = createCodec(dialect)

/** `ISwarmMessage` as a program has it: its images may be bytes. */
interface LiveSwarmMessage extends Omit<SwarmMessage, 'images'> {
  readonly images?: readonly SwarmImage[] | undefined
}

/** Messages of a swarm. */
export const swarmCodec = {
  ...codec,
  /** Reads messages whose images may be Blobs, which are read asynchronously. @throws Rejection malformed, naming the member */
  async readLive(messages: readonly LiveSwarmMessage[], context: ReadContext): Promise<readonly EntryBody[]> {
    return codec.read(await Promise.all(messages.map(encodeImages)), context)
  },
}

async function encodeImages(message: LiveSwarmMessage): Promise<LiveSwarmMessage> {
  return message.images ? { ...message, images: await encodeSwarmImages(message.images) } : message
}
