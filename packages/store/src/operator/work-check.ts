// Checks whether a store accepts writes and answers readings now.
import { randomBytes } from 'node:crypto'
import { readAfterWait } from '../sql/engine-defaults.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** The size of the row, bytes. It is more than the free space of a page, so the file has to grow, which fails on a full disk. */
const rowBytes = 7_000

/**
 * Creates the check of a store. It writes a row that nobody reads and deletes it, because nothing else detects a full disk, a lost file, a lock or a
 * standby. Then it reads the tables on which callers depend. It uses their connections, so it also waits for whatever delays them.
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
    await readAfterWait(db, () => read.get())
  }
}
