import { attachRawBytes } from '../blobs/raw.ts'
import type { PlacedThread } from '../conversations/threads.ts'
import { viaOf } from '../conversations/threads.ts'
import type { Batch, FirstMessage } from '../engine/batch.ts'
import type { MessageDraft } from './draft.ts'
import { formatFlags, sizeOf } from './draft.ts'
import type { StoredMessage } from './reader.ts'
import { toStoredMessage } from './reader.ts'

/** Messages that have begun their threads a moment ago: whoever takes their turn need not read them back. */
export interface FirstMessages {
  /** To be called once they are committed: until then another row may get their number. */
  keep(messages: Batch['firstMessages']): void
  /** As it came: its words may have changed since. `batch`: of this transaction. Undefined: it has to be read. */
  find(batch: Pick<Batch, 'firstMessages'>, message: number): StoredMessage | undefined
}

/** How many are kept at most, and of how many bytes each. */
const [mostKept, mostBytes] = [256, 16_384]

export function createFirstMessages(): FirstMessages {
  const kept = new Map<number, FirstMessage>()
  return {
    keep(messages) {
      for (const [message, first] of messages) {
        // A number may have been another message's, which is gone.
        if (first) kept.set(message, first)
        else kept.delete(message)
      }
      for (const oldest of kept.keys()) {
        if (kept.size <= mostKept) break
        kept.delete(oldest)
      }
    },
    find(batch, message) {
      const { firstMessages } = batch
      const first = firstMessages.has(message) ? firstMessages.get(message) : kept.get(message)
      return first && readFirst(message, first)
    },
  }
}

/** The message as its reader would find it. */
function readFirst(message: number, first: FirstMessage): StoredMessage {
  return toStoredMessage(message, first, content => attachRawBytes(content, first.raw))
}

export interface NotedMessage extends PlacedThread {
  readonly message: number
  readonly isOfTask: boolean
}

/** Notes a message that has a turn, for whoever takes it: its row, if the message has begun its thread and is not too large to be kept. */
export function noteFirst(batch: Batch, draft: MessageDraft, { message, thread, key, isOfTask }: NotedMessage): void {
  const isKept = key !== undefined && isSmall(draft)
  batch.firstMessages.set(message, isKept ? toFirstMessage(draft, { thread, key, isOfTask }) : undefined)
}

/** Whether it is small enough to be kept until its turn begins. */
export function isSmall(draft: MessageDraft): boolean {
  return !draft.rawBlob && sizeOf(draft) <= mostBytes
}

/** A message that begins its thread, as a worker has it whom its turn begins at once. */
export function toStoredFirst(
  draft: MessageDraft,
  { message, thread, key = '', isOfTask }: NotedMessage,
): StoredMessage {
  return readFirst(message, toFirstMessage(draft, { thread, key, isOfTask }))
}

function toFirstMessage(
  draft: MessageDraft,
  { thread, key, isOfTask }: Pick<NotedMessage, 'thread' | 'isOfTask'> & { readonly key: string },
): FirstMessage {
  const { intake, correlationId, envelope, entry, target } = draft
  const task = isOfTask ? intake.task : undefined
  return {
    agent: intake.agent,
    channel: viaOf(intake),
    thread_id: thread,
    key,
    envelope,
    content: entry.content,
    flags: formatFlags(draft),
    target,
    correlation_id: correlationId,
    owner: task?.owner ?? null,
    native_id: task?.id ?? null,
    raw: intake.raw,
  }
}
