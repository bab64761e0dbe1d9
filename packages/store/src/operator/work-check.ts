// Checks that a store accepts writes and answers queries.
import { randomBytes } from 'node:crypto'
import type { StoreContext } from '../transaction/store-context.ts'

/** The size of the test row in bytes. The row is larger than the free space of a page, so the file must grow, which fails on a full disk. */
const rowBytes = 7_000

/**
 * Creates the check of a store. The check writes and deletes a test row, which detects a full disk, a lost file, a lock or a standby server. Then it
 * reads the tables on which callers depend, over the connections of callers, so that it is delayed like the callers.
 * @throws Unavailable
 */
export function createWorkCheck({ db, write }: Pick<StoreContext, 'db' | 'write'>): () => Promise<void> {
  const insert = db.prepare('INSERT INTO blobs (digest, mime, bytes, is_file) VALUES (?, NULL, ?, 0)')
  const remove = db.prepare('DELETE FROM blobs WHERE digest = ?')
  const read = db.prepare(
    'SELECT (SELECT max(id) FROM tasks) AS task, (SELECT max(seq) FROM messages) AS message, (SELECT max(id) FROM threads) AS thread',
  )
  return async () => {
    const digest = `check ${randomBytes(16).toString('hex')}`
    const insertAndDelete = () => {
      insert.run(digest, randomBytes(rowBytes))
      remove.run(digest)
    }
    await write(insertAndDelete, { conflictKeys: () => [digest] })
    await db.read(() => read.get())
  }
}
