// Forgets the chats of an owner.
import type { ByteStore } from '@postern/message'
import type { LocatedObject } from '../blobs/object-bytes.ts'
import { createByteRemoval, locationColumns } from '../blobs/object-bytes.ts'
import { maxRemovals } from '../messages/row-removal.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import { createOwnThreadRemoval } from '../threads/own-thread-removal.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RemoveMessageDeps } from './remove-message.ts'
import { createRemoveMessage } from './remove-message.ts'

/** A conversation of a chat, as its owner names it. */
interface ChatName {
  readonly owner: string
  readonly agent: string
  readonly key: string
}

export interface ChatForgetting {
  /**
   * Deletes all messages of one chat, with the files to which no other task of its owner refers, and aborts running turns of the chat. If the process
   * ends during the deletion, a repeated call completes it. Resolves when the deletion is durable, with false if there is no such chat.
   */
  forgetChat(chat: ChatName): Promise<boolean>
}

interface Slice {
  readonly thread: number
  readonly messages: ReadonlySet<number>
  /** The files to which no other task of the owner refers. */
  readonly files: readonly LocatedObject[]
}

export function createChatForgetter(
  { db, channels, write, now }: StoreContext,
  tables: RemoveMessageDeps,
  byteStore: ByteStore | undefined,
): ChatForgetting {
  const findThread = db.prepare<{ thread_id: number }>(
    `SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND ${channels.sql.chatCondition('channel')} AND scope = ? AND is_key = 1`,
  )
  const listMessages = db.prepare<{ seq: number }>(
    `SELECT seq FROM messages WHERE kind = 'message' AND ${channels.sql.chatCondition('channel')} AND thread_id = ? ORDER BY seq DESC LIMIT +?`,
  )
  const listEntries = db.prepare<{ seq: number }>(
    "SELECT seq FROM messages WHERE thread_id = ? AND scope = 'conversation'",
  )
  const files = createChatFiles(db)
  const removeBytes = createByteRemoval(byteStore)
  const removeMessage = createRemoveMessage(db, tables)
  const deleteEntry = createEntryRemoval(db)
  const deleteThread = createOwnThreadRemoval(db)

  /** Finds the next messages to delete. Returns undefined if the chat has no thread any more. */
  function* findSlice({ owner, agent, key }: ChatName): Operation<Slice | undefined> {
    const thread = (yield* findThread.get(key, agent, owner))?.thread_id
    if (thread === undefined) return undefined
    const messages = (yield* listMessages.all(thread, maxRemovals)).map(({ seq }) => seq)
    return { thread, messages: new Set(messages), files: yield* files.listUnsharedFiles(owner, messages) }
  }

  /** Removes a slice. It reads the thread's number again, because another thread may have got that number in the meantime. */
  function removeSlice({ owner, agent, key }: ChatName, { thread, messages, files: locations }: Slice): Promise<void> {
    return write(function* (batch) {
      files.remove(owner, locations)
      if ((yield* findThread.get(key, agent, owner))?.thread_id !== thread) return
      const forgottenMessages = (yield* listMessages.all(thread, 2 * maxRemovals)).filter(({ seq }) =>
        messages.has(seq),
      )
      for (const { seq } of forgottenMessages) yield* removeMessage(batch, seq, now())
      if ((yield* listMessages.all(thread, 1)).length > 0) return
      for (const { seq } of yield* listEntries.all(thread)) yield* deleteEntry(seq)
      yield* deleteThread(thread, owner)
    })
  }

  return {
    async forgetChat(chat) {
      for (let hasRemoved = false; ; hasRemoved = true) {
        const slice = await db.read(() => findSlice(chat))
        if (!slice) return hasRemoved
        // The bytes are deleted before their rows, so that a repeated call finds them after an interruption. An unreachable file keeps its row.
        const files: LocatedObject[] = []
        for (const file of slice.files) if (await removeBytes(file)) files.push(file)
        await removeSlice(chat, { ...slice, files })
      }
    },
  }
}

interface ChatFiles {
  /** Lists the files of these messages to which no other task of the owner refers. */
  listUnsharedFiles(owner: string, messages: readonly number[]): Operation<readonly LocatedObject[]>
  remove(owner: string, locations: readonly LocatedObject[]): void
}

function createChatFiles(db: Sql): ChatFiles {
  const listDigests = db.prepare<{ digest: string }>('SELECT digest FROM blob_uses WHERE message = ?')
  const list = db.prepare<LocatedObject>(
    `SELECT ${locationColumns} FROM objects WHERE owner = ?1 AND digest = ?2 AND NOT EXISTS (SELECT 1 FROM blob_uses u
       JOIN messages m ON m.seq = u.message JOIN tasks k ON k.id = m.task_id WHERE u.digest = ?2 AND k.owner = ?1
       AND u.message NOT IN (SELECT CAST(value AS INTEGER) FROM json_each(?3)))`,
  )
  const remove = db.prepare('DELETE FROM objects WHERE owner = ? AND bucket = ? AND path = ?')
  return {
    *listUnsharedFiles(owner, messages) {
      const digests = new Set(
        yield* flatMapInOrder(messages, function* (message) {
          return (yield* listDigests.all(message)).map(({ digest }) => digest)
        }),
      )
      return yield* flatMapInOrder([...digests], digest => list.all(owner, digest, JSON.stringify(messages)))
    },
    remove(owner, locations) {
      for (const { bucket, path } of locations) remove.run(owner, bucket, path)
    },
  }
}
