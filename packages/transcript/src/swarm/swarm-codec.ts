import type { Json } from '@postern/core'
import { bagName, bagOfRun } from '../bag.ts'
import { createCodec } from '../create-codec.ts'
import type { Dialect } from '../dialect.ts'
import { readSwarmDrafts } from './read-swarm-message.ts'
import { parseSwarmMessage, type SwarmMessage } from './swarm-message.ts'
import { countSwarmRun, writeSwarmMessage } from './write-swarm-message.ts'

const dialect: Dialect<SwarmMessage> = {
  format: 'swarm',
  parse: parseSwarmMessage,
  toDrafts: readSwarmDrafts,
  countRun: countSwarmRun,
  toMessage: writeSwarmMessage,
  readBag: ({ payload }) => payload?.[bagName],
  stripBag: message => (message.payload ? { ...message, payload: withoutBag(message.payload) } : message),
  addBag: (message, run) => ({ ...message, payload: { ...message.payload, [bagName]: bagOfRun(run) as Json } }),
  // A bag makes an object of a payload that was null or absent.
  essenceOf: ({ payload, ...message }) => ({ ...message, payload: withoutBag(payload ?? {}) }) as Json,
}

function withoutBag({
  [bagName]: _,
  ...payload
}: NonNullable<SwarmMessage['payload']>): NonNullable<SwarmMessage['payload']> {
  return payload
}

/** Seed 003: messages of a swarm. */
export const swarmCodec = createCodec(dialect)
