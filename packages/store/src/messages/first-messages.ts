// Caches the newest messages that began a thread, so that their turns need not read them from the database.
import type { AssignedThread, ThreadIds } from '../threads/threads.ts'
import { viaOf } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import type { FirstMessage } from '../transaction/first-message.ts'
import type { MessageDraft } from './message-draft.ts'
import { countRowBytes, formatFlags } from './message-draft.ts'
import { attachRawBytes } from './raw-content.ts'
import type { StoredMessage } from './read-message.ts'
import { toStoredMessage } from './read-message.ts'

/** A cache of the newest messages that began their threads. */
export interface FirstMessages {
  /** Caches messages. The caller waits for their commit, because until then another row may get their number. */
  remember(messages: Batch['firstMessages']): void
  /** Finds a message as it arrived, although its row may have changed since. `batch` belongs to the running transaction. */
  find(batch: Pick<Batch, 'firstMessages'>, message: number): StoredMessage | undefined
}

/** The maximum number of messages that stay in memory, and the maximum size of each in bytes. */
const [maxMessages, maxMessageBytes] = [256, 16_384]

export function createFirstMessages(): FirstMessages {
  const messagesInMemory = new Map<number, FirstMessage>()
  return {
    remember(messages) {
      for (const [message, firstMessage] of messages) {
        // The number may have belonged to another message, which was deleted.
        if (firstMessage) messagesInMemory.set(message, firstMessage)
        else messagesInMemory.delete(message)
      }
      for (const oldest of messagesInMemory.keys()) {
        if (messagesInMemory.size <= maxMessages) break
        messagesInMemory.delete(oldest)
      }
    },
    find(batch, message) {
      const { firstMessages } = batch
      const firstMessage = firstMessages.has(message) ? firstMessages.get(message) : messagesInMemory.get(message)
      return firstMessage && buildStoredMessage(message, firstMessage)
    },
  }
}

/** Builds the message as `ReadMessage` would return it. */
function buildStoredMessage(message: number, firstMessage: FirstMessage): StoredMessage {
  return toStoredMessage(message, firstMessage, content => attachRawBytes(content, firstMessage.raw))
}

export interface InsertedMessage extends AssignedThread {
  readonly message: number
  readonly isOfTask: boolean
}

/** Adds a message that has a turn to its batch. Its columns are added, too, if it begins its thread and is small enough for the cache. */
export function addFirstMessage(
  batch: Batch,
  draft: MessageDraft,
  { message, thread, newThread, isOfTask }: InsertedMessage,
): void {
  const staysInMemory = newThread !== undefined && fitsInMemory(draft)
  batch.firstMessages.set(
    message,
    staysInMemory ? toFirstMessage(draft, { thread, threadIds: newThread, isOfTask }) : undefined,
  )
}

/** Returns true if a message is small enough to stay in memory until its turn begins. */
export function fitsInMemory(draft: MessageDraft): boolean {
  return !draft.rawBlob && countRowBytes(draft) <= maxMessageBytes
}

/** Builds the message that begins a thread for a worker that runs its turn at once. */
export function toStoredFirstMessage(
  draft: MessageDraft,
  { message, thread, newThread, isOfTask }: InsertedMessage,
): StoredMessage {
  if (!newThread) throw new Error(`message ${message} begins no thread`)
  return buildStoredMessage(message, toFirstMessage(draft, { thread, threadIds: newThread, isOfTask }))
}

function toFirstMessage(
  draft: MessageDraft,
  {
    thread,
    threadIds: { key, public_id },
    isOfTask,
  }: Pick<InsertedMessage, 'thread' | 'isOfTask'> & {
    readonly threadIds: ThreadIds
  },
): FirstMessage {
  const { intake, correlationId, envelope, entry, target } = draft
  const task = isOfTask ? intake.task : undefined
  return {
    agent: intake.agent,
    channel: viaOf(intake),
    thread_id: thread,
    key,
    public_id,
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
