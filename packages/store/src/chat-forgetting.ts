import type { ByteStore } from '@postern/core'
import { prepareQuery } from './database.ts'
import { createEntryRemoval } from './entry-removal.ts'
import { createOwnThreadRemoval } from './own-thread-removal.ts'
import { createRemoveMessage } from './remove-message.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

/** A conversation of a chat, as its owner names it. */
export interface ChatName {
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

export function createChatForgetting(
  { db, write, now }: Store,
  tables: Tables,
  elsewhere: Pick<ByteStore, 'remove'> | undefined,
): ChatForgetting {
  const find = prepareQuery<{ thread_id: number }>(
    db,
    "SELECT thread_id FROM names WHERE name = ? AND agent = ? AND via = 'web' AND scope = ? AND is_key = 1",
  )
  const listMessages = prepareQuery<{ number: number }>(
    db,
    "SELECT number FROM messages WHERE via = 'web' AND thread_id = ? ORDER BY number DESC LIMIT +?",
  )
  const listEntries = prepareQuery<{ seq: number }>(
    db,
    "SELECT seq FROM entries WHERE thread_id = ? AND scope = 'conversation'",
  )
  const listDigests = prepareQuery<{ digest: string }>(db, 'SELECT digest FROM blob_uses WHERE message = ?')
  const endFiles = prepareQuery<FilePlace>(
    db,
    `DELETE FROM objects WHERE owner = ?1 AND digest = ?2 AND NOT EXISTS (SELECT 1 FROM blob_uses u
       JOIN messages m ON m.number = u.message JOIN tasks k ON k.id = m.task_id WHERE u.digest = ?2 AND k.owner = ?1)
     RETURNING bucket, path`,
  )
  const removeMessage = createRemoveMessage(db, tables)
  const endEntry = createEntryRemoval(db)
  const endThread = createOwnThreadRemoval(db)

  /** Undefined when there is nothing of it any more. A number is looked up each time: it may be given again. */
  function removeSlice({ owner, agent, key }: ChatName): Promise<readonly FilePlace[] | undefined> {
    return write(batch => {
      const thread = find.get(key, agent, owner)?.thread_id
      if (thread === undefined) return undefined
      const messages = listMessages.all(thread, sliceSize)
      const digests = messages.flatMap(({ number }) => listDigests.all(number))
      for (const { number } of messages) removeMessage(batch, number, now())
      const files = [...new Set(digests.map(({ digest }) => digest))].flatMap(digest => endFiles.all(owner, digest))
      if (messages.length < sliceSize) {
        for (const { seq } of listEntries.all(thread)) endEntry(seq)
        endThread(thread, owner)
      }
      return files
    })
  }

  return {
    async forgetChat(chat) {
      for (let isThere = false; ; isThere = true) {
        const files = await removeSlice(chat)
        if (!files) return isThere
        for (const { bucket, path } of files) await elsewhere?.remove(`${bucket}/${path}`)
      }
    },
  }
}
