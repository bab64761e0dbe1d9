// Reads messages and their answers from the gateway's store for a test.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Part } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import { isMessageOver } from '../dev/simulation.ts'
import type { Gateway } from '../gateway.ts'
import type { AnswerRecord, NamedMessage } from './started-gateway.ts'

type MessageRecordStore = Pick<Gateway['store'], 'findBlob'> & {
  readonly forOperators: Pick<Gateway['store']['forOperators'], 'findMessage'>
}

/** The longest wait for a turn with its deliveries, and the time between two polls, ms. */
const [maxWaitMs, pollMs] = [5_000, 25]

/** Reads a message once its turn and deliveries have ended, or after five seconds. @throws Error if there is no such message */
export async function readRecord(message: NamedMessage, store: MessageRecordStore): Promise<MessageRecord> {
  const key = describeKey(message)
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const record = await store.forOperators.findMessage(key)
    if (!record) throw new Error(`There is no message "${key}"`)
    if (isMessageOver(record) || waitedMs >= maxWaitMs)
      return { ...record, response: await fillResponse(record, store) }
    await sleep(pollMs)
  }
}

/** Reads the current answer to a message. A refused message has none. */
export async function readAnswerOf(id: string, store: MessageRecordStore): Promise<AnswerRecord> {
  const record = await store.forOperators.findMessage(id)
  if (!record) return { parts: [] }
  const response = await fillResponse(record, store)
  return { number: record.number, parts: response?.parts ?? [] }
}

/** Completes an answer with its files. Messages that are answered together share the answer of the last one. */
async function fillResponse(record: MessageRecord, store: MessageRecordStore): Promise<MessageRecord['response']> {
  const { response, merged_into } = record
  if (response) return { ...response, parts: await Promise.all(response.parts.map(part => fillBytes(part, store))) }
  const laterMessage = merged_into === undefined ? undefined : await store.forOperators.findMessage(`#${merged_into}`)
  return laterMessage ? fillResponse(laterMessage, store) : response
}

function describeKey(message: NamedMessage): string {
  if (typeof message === 'string') return message
  const number = typeof message === 'number' ? message : message.number
  if (number === undefined) throw new Error('The gateway refused this message')
  return `#${number}`
}

async function fillBytes(part: Part, { findBlob }: MessageRecordStore): Promise<Part> {
  if (!('bytes_ref' in part) || part.bytes_ref.kind !== 'content_addressed') return part
  const blob = await findBlob(part.bytes_ref.digest)
  if (!blob) return part
  return { ...part, bytes_ref: { kind: 'inline', data_base64: Buffer.from(blob.bytes).toString('base64') } }
}
