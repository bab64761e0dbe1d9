import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Blob, LookupDesk } from '@postern/core'
import { prepareQuery } from './database.ts'
import type { Store } from './store.ts'

export interface BlobTable {
  /** Bytes already here are kept as they are. */
  keep(blob: Blob): void
}

export function createBlobTable(db: DatabaseSync): BlobTable {
  const insert = prepareQuery(
    db,
    'INSERT INTO blobs (digest, mime, bytes) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING',
  )
  return { keep: ({ digest, mime, bytes }) => void insert.run(digest, mime ?? null, bytes) }
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
