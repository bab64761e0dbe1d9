import { randomBytes } from 'node:crypto'
import type { StoreContext } from '../engine/store-context.ts'

/** More than a page has left over: a full disk shows where a file has to grow. */
const rowBytes = 7_000

/** Writes a row that nobody reads, and deletes it: a full disk, a lost file, a lock or a standby is noticed in no other way. @throws Unavailable */
export function createWriteCheck({ db, write }: Pick<StoreContext, 'db' | 'write'>): () => Promise<void> {
  const insert = db.prepare('INSERT INTO blobs (digest, mime, bytes, is_file) VALUES (?, NULL, ?, 0)')
  const remove = db.prepare('DELETE FROM blobs WHERE digest = ?')
  return () => {
    const digest = `check ${randomBytes(16).toString('hex')}`
    const tryOut = () => {
      insert.run(digest, randomBytes(rowBytes))
      remove.run(digest)
    }
    return write(tryOut, { touches: () => [digest] })
  }
}
