import type { ByteStore } from '@postern/core'
import { createEntryRemoval } from '../conversations/entry-removal.ts'
import { createOwnThreadRemoval } from '../conversations/own-thread-removal.ts'
import type { Sql } from '../engine/database.ts'
import { readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
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
   * All that was said in one chat, with the files that nothing else of its owner's refers to; whoever works on it is broken off. Cut off by the end
   * of the process, it is completed by doing it again. Durable when it resolves. False when there is no such chat.
   */
  forgetChat(chat: ChatName): Promise<boolean>
}

/** Messages taken out in one transaction, so that others get their turn. */
const sliceSize = 50

interface FilePlace {
  readonly bucket: string
  readonly path: string
}

interface Slice {
  readonly thread: number
  readonly messages: ReadonlySet<number>
  /** What nothing else of the owner's refers to. */
  readonly files: readonly FilePlace[]
}

export function createChatForgetting(
  { db, channels, write, now }: StoreContext,
  tables: RemoveMessageDeps,
  elsewhere: Pick<ByteStore, 'remove'> | undefined,
): ChatForgetting {
  const find = db.prepare<{ thread_id: number }>(
    `SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND ${channels.sql.isChat('channel')} AND scope = ? AND is_key = 1`,
  )
  const listMessages = db.prepare<{ seq: number }>(
    `SELECT seq FROM messages WHERE kind = 'message' AND ${channels.sql.isChat('channel')} AND thread_id = ? ORDER BY seq DESC LIMIT +?`,
  )
  const listEntries = db.prepare<{ seq: number }>(
    "SELECT seq FROM messages WHERE thread_id = ? AND scope = 'conversation'",
  )
  const files = createChatFiles(db)
  const removeMessage = createRemoveMessage(db, tables)
  const endEntry = createEntryRemoval(db)
  const endThread = createOwnThreadRemoval(db)

  /** Undefined when there is nothing of it any more. */
  function findSlice({ owner, agent, key }: ChatName): Slice | undefined {
    const thread = find.get(key, agent, owner)?.thread_id
    if (thread === undefined) return undefined
    const messages = listMessages.all(thread, sliceSize).map(({ seq }) => seq)
    return { thread, messages: new Set(messages), files: files.listOf(owner, messages) }
  }

  /** A number is looked up once more: it may have been given again. */
  function removeSlice({ owner, agent, key }: ChatName, { thread, messages, files: places }: Slice): Promise<void> {
    return write(batch => {
      files.remove(owner, places)
      if (find.get(key, agent, owner)?.thread_id !== thread) return
      const listed = listMessages.all(thread, 2 * sliceSize).filter(({ seq }) => messages.has(seq))
      for (const { seq } of listed) removeMessage(batch, seq, now())
      if (listMessages.all(thread, 1).length > 0) return
      for (const { seq } of listEntries.all(thread)) endEntry(seq)
      endThread(thread, owner)
    })
  }

  return {
    async forgetChat(chat) {
      for (let isThere = false; ; isThere = true) {
        const slice = await readAfterWait(db, () => findSlice(chat))
        if (!slice) return isThere
        // Before their rows, so that they are found again when this is cut off.
        for (const { bucket, path } of slice.files) await elsewhere?.remove(`${bucket}/${path}`)
        await removeSlice(chat, slice)
      }
    },
  }
}

interface ChatFiles {
  /** The files of these messages that nothing else of the owner's refers to. */
  listOf(owner: string, messages: readonly number[]): readonly FilePlace[]
  remove(owner: string, places: readonly FilePlace[]): void
}

function createChatFiles(db: Sql): ChatFiles {
  const listDigests = db.prepare<{ digest: string }>('SELECT digest FROM blob_uses WHERE message = ?')
  const list = db.prepare<FilePlace>(
    `SELECT bucket, path FROM objects WHERE owner = ?1 AND digest = ?2 AND NOT EXISTS (SELECT 1 FROM blob_uses u
       JOIN messages m ON m.seq = u.message JOIN tasks k ON k.id = m.task_id WHERE u.digest = ?2 AND k.owner = ?1
       AND u.message NOT IN (SELECT CAST(value AS INTEGER) FROM json_each(?3)))`,
  )
  const remove = db.prepare('DELETE FROM objects WHERE owner = ? AND bucket = ? AND path = ?')
  return {
    listOf(owner, messages) {
      const digests = new Set(messages.flatMap(number => listDigests.all(number).map(({ digest }) => digest)))
      return [...digests].flatMap(digest => list.all(owner, digest, JSON.stringify(messages)))
    },
    remove(owner, places) {
      for (const { bucket, path } of places) remove.run(owner, bucket, path)
    },
  }
}
