// Sketches messages with a queue mode for the tests of stores.
import type { QueueMode, Store, Turn } from '@postern/pipeline'
import { sketchProvenSender } from './proven-sender.ts'
import type { IntakeSketch } from './under-test.ts'
import { inThread, sketchIntake } from './under-test.ts'

export const provenAda = sketchProvenSender('ada')

export const mergeMode: QueueMode = { mode: 'merge' }

export const interruptMode: QueueMode = { mode: 'interrupt' }

export function sketchQueued(id: string, lane: QueueMode | undefined, { message, ...sketch }: IntakeSketch = {}) {
  return sketchIntake(id, inThread('t', { queueMode: lane, ...sketch, message: { sender: provenAda, ...message } }))
}

export const wordsOfTurn = ({ content }: Turn) =>
  content.parts.map(part => (part.kind === 'text' ? part.content : part.kind))

export async function readMessageState(store: Store, id: string) {
  const { state, error, merged_into, response } = (await store.findMessage(id)) ?? {}
  return { state, error, merged_into, response: response?.id }
}
