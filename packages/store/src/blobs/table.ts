import { hash, subtle } from 'node:crypto'
import type { Blob, LookupStore } from '@postern/core'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Batch, Sql } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { touchedBytes } from '../together/touched.ts'

const noBytes = new Uint8Array()

export interface BlobTable {
  /** Bytes already here are kept as they are. @returns how many came to the message, here already or not */
  keepAll(blobs: readonly Blob[], message: number): number
  /** Bytes that no other message needs are gone. @returns how many the message had */
  release(batch: Batch, message: number): number
  /** As `release`, for what neither the message nor its answer `response` (seq) names any more. */
  releaseUnnamed(batch: Batch, message: number, response: number): void
}

export function createBlobTable(db: Sql, { isHeld }: Pick<BlobFiles, 'isHeld'>): BlobTable {
  const insert = db.prepare(
    'INSERT INTO blobs (digest, mime, bytes, is_file) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING',
  )
  const use = db.prepare('INSERT OR IGNORE INTO blob_uses (message, digest, bytes) VALUES (?, ?, ?)')
  const endUses = db.prepare<{ digest: string; bytes: number }>(
    'DELETE FROM blob_uses WHERE message = ? RETURNING digest, bytes',
  )
  const digestOf = "json_extract(json_each.value, '$.bytes_ref.digest')"
  const endUnnamed = db.prepare<{ digest: string }>(
    `DELETE FROM blob_uses WHERE message = ?1 AND digest NOT IN (
       SELECT raw_digest FROM messages WHERE seq = ?1 AND raw_digest IS NOT NULL
       UNION ALL SELECT ${digestOf} FROM messages e, json_each(e.content)
         WHERE e.seq IN (?1, ?2) AND ${digestOf} IS NOT NULL) RETURNING digest`,
  )
  const remove = db.prepare<{ is_file: number }>(
    `DELETE FROM blobs WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE digest = ?1)
     RETURNING is_file`,
  )
  function removeUnused(batch: Batch, unused: readonly { readonly digest: string }[]): void {
    for (const { digest } of unused) {
      // A message may be bringing the same bytes now.
      batch.reserve(touchedBytes(digest))
      if (remove.get(digest)?.is_file === 1) batch.droppedFiles.push(digest)
    }
  }
  return {
    keepAll(blobs, message) {
      let size = 0
      for (const { digest, mime, bytes } of blobs) {
        const isFile = isHeld(digest)
        insert.run(digest, mime ?? null, isFile ? noBytes : bytes, isFile ? 1 : 0)
        if (use.run(message, digest, bytes.byteLength).changes > 0) size += bytes.byteLength
      }
      return size
    },
    release(batch, message) {
      const ended = endUses.all(message)
      removeUnused(batch, ended)
      return ended.reduce((sum, { bytes }) => sum + bytes, 0)
    },
    releaseUnnamed: (batch, message, response) => removeUnused(batch, endUnnamed.all(message, response)),
  }
}

export function createBlobLookup({ db, files }: Pick<StoreContext, 'db' | 'files'>): Pick<LookupStore, 'findBlob'> {
  const find = db.prepare<{ mime: string | null; bytes: Uint8Array; is_file: number }>(
    'SELECT mime, bytes, is_file FROM blobs WHERE digest = ?',
  )
  return {
    async findBlob(digest) {
      const row = find.get(digest)
      if (!row) return undefined
      const bytes = row.is_file ? await files.read(digest) : row.bytes
      return { digest, mime: row.mime ?? undefined, bytes }
    },
  }
}

/** Whether a file of this digest belongs to something. */
export function createFileNeed(db: Sql): (digest: string) => boolean {
  const find = db.prepare('SELECT 1 FROM blobs WHERE digest = ? AND is_file = 1')
  return digest => find.get(digest) !== undefined
}

/** Larger bytes are digested aside from the event loop. */
const asideThreshold = 1024 * 1024

export function digestBlob(bytes: Uint8Array): Promise<Blob> {
  const known = digested.get(bytes)
  if (known) return known
  const blob = digestAside(bytes)
  digested.set(bytes, blob)
  return blob
}

/** One message may come to many agents. */
const digested = new WeakMap<Uint8Array, Promise<Blob>>()

async function digestAside(bytes: Uint8Array): Promise<Blob> {
  if (bytes.byteLength < asideThreshold) return { digest: hash('sha256', bytes), bytes }
  const digest = await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return { digest: Buffer.from(digest).toString('hex'), bytes }
}
