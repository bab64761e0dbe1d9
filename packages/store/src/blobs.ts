import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Blob, LookupDesk } from '@postern/core'
import { prepareQuery } from './database.ts'
import type { Store } from './store.ts'

export interface BlobTable {
  /** Bytes already here are kept as they are. */
  keepAll(blobs: readonly Blob[], message: number): void
  /** Bytes that no other message needs are gone. */
  release(message: number): void
  /** As `release`, for what neither the message nor its answer `response` (seq) names any more. */
  releaseUnnamed(message: number, response: number): void
}

export function createBlobTable(db: DatabaseSync): BlobTable {
  const insert = prepareQuery(
    db,
    'INSERT INTO blobs (digest, mime, bytes) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING',
  )
  const use = prepareQuery(db, 'INSERT OR IGNORE INTO blob_uses (message, digest) VALUES (?, ?)')
  const endUses = prepareQuery<{ digest: string }>(db, 'DELETE FROM blob_uses WHERE message = ? RETURNING digest')
  const digestOf = "json_extract(json_each.value, '$.bytes_ref.digest')"
  const endUnnamed = prepareQuery<{ digest: string }>(
    db,
    `DELETE FROM blob_uses WHERE message = ?1 AND digest NOT IN (
       SELECT raw_digest FROM messages WHERE number = ?1 AND raw_digest IS NOT NULL
       UNION ALL SELECT ${digestOf} FROM entries e, json_each(e.content)
         WHERE e.seq IN (?1, ?2) AND ${digestOf} IS NOT NULL) RETURNING digest`,
  )
  const remove = prepareQuery(
    db,
    'DELETE FROM blobs WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE digest = ?1)',
  )
  return {
    keepAll(blobs, message) {
      for (const { digest, mime, bytes } of blobs) {
        insert.run(digest, mime ?? null, bytes)
        use.run(message, digest)
      }
    },
    release(message) {
      for (const { digest } of endUses.all(message)) remove.run(digest)
    },
    releaseUnnamed(message, response) {
      for (const { digest } of endUnnamed.all(message, response)) remove.run(digest)
    },
  }
}

export function createBlobLookup({ db }: Pick<Store, 'db'>): Pick<LookupDesk, 'findBlob'> {
  const find = prepareQuery<{ mime: string | null; bytes: Uint8Array }>(
    db,
    'SELECT mime, bytes FROM blobs WHERE digest = ?',
  )
  return {
    async findBlob(digest) {
      const row = find.get(digest)
      return row && { digest, mime: row.mime ?? undefined, bytes: row.bytes }
    },
  }
}

export function digestBlob(bytes: Uint8Array): Blob {
  return { digest: hash('sha256', bytes), bytes }
}
