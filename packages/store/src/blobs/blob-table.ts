// Stores the blobs of messages and answers.
import { hash, subtle } from 'node:crypto'
import type { Blob, LookupStore } from '@postern/pipeline'
import type { BlobFiles } from '../files/blob-files.ts'
import type { FileSql } from '../sql/file-sql.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import { bytesConflict } from '../transaction/conflict-keys.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { LocatedBlob, RawPart } from './raw-part.ts'
import { decodePart } from './raw-part.ts'

const noBytes = new Uint8Array()

export interface BlobTable {
  /**
   * Stores the blobs of a message. Existing blobs stay as they are, and a part of the raw bytes gets only a reference into them. The bytes count for
   * the sender `storedBy`.
   * @returns the number of bytes beside the raw bytes, including blobs that existed already
   */
  insertAll(blobs: readonly LocatedBlob[], message: number, storedBy?: string | null): Operation<number>
  /** Releases the blobs of a message, and deletes those that no other message uses. @returns the number of bytes that the message had */
  release(batch: Batch, message: number): Operation<number>
  /** Releases the blobs to which neither the message nor its answer refers any more. `response` is the seq of the answer. */
  releaseUnnamed(batch: Batch, message: number, response: number): Operation<void>
}

export function createBlobTable(db: Sql, { isRetained }: Pick<BlobFiles, 'isRetained'>): BlobTable {
  const insert = db.prepare(
    'INSERT INTO blobs (digest, mime, bytes, is_file) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING',
  )
  // The same bytes may arrive again by themselves, or at another position in the raw bytes of another message.
  const insertUse = db.prepare(
    `INSERT INTO blob_uses (message, digest, bytes, stored_by, part_encoding, part_start, part_end, part_mime)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message, digest) DO UPDATE SET bytes = excluded.bytes, stored_by = excluded.stored_by,
       part_encoding = excluded.part_encoding, part_start = excluded.part_start, part_end = excluded.part_end, part_mime = excluded.part_mime
     WHERE blob_uses.part_encoding IS NOT NULL`,
  )
  const deleteUses = db.prepare<{ digest: string; bytes: number }>(
    'DELETE FROM blob_uses WHERE message = ? RETURNING digest, bytes',
  )
  const digestSql = "json_extract(json_each.value, '$.bytes_ref.digest')"
  const deleteUnnamedUses = db.prepare<{ digest: string }>(
    `DELETE FROM blob_uses WHERE message = ?1 AND digest NOT IN (
       SELECT raw_digest FROM messages WHERE seq = ?1 AND raw_digest IS NOT NULL
       UNION ALL SELECT ${digestSql} FROM messages e, json_each(e.content)
         WHERE e.seq IN (?1, ?2) AND ${digestSql} IS NOT NULL) RETURNING digest`,
  )
  const removeUnused = createUnusedBlobRemoval(db)

  function insertPart({ digest, mime, part }: LocatedBlob, message: number, storedBy: string | null): void {
    if (part) insertUse.run(message, digest, 0, storedBy, part.encoding, part.start, part.end, mime ?? null)
  }

  /** Stores the bytes of a file. Returns their number, or 0 if the message had them already. */
  function* insertSeparately(
    { digest, mime, bytes }: LocatedBlob,
    message: number,
    storedBy: string | null,
  ): Operation<number> {
    const isFile = isRetained(digest)
    insert.run(digest, mime ?? null, isFile ? noBytes : bytes, isFile ? 1 : 0)
    const changes = yield* insertUse.change(message, digest, bytes.byteLength, storedBy, null, null, null, null)
    return changes > 0 ? bytes.byteLength : 0
  }

  return {
    *insertAll(blobs, message, storedBy = null) {
      let size = 0
      for (const blob of blobs) {
        if (blob.part) insertPart(blob, message, storedBy)
        else size += yield* insertSeparately(blob, message, storedBy)
      }
      return size
    },
    *release(batch, message) {
      const releasedUses = yield* deleteUses.all(message)
      yield* removeUnused(batch, releasedUses)
      return releasedUses.reduce((sum, { bytes }) => sum + bytes, 0)
    },
    *releaseUnnamed(batch, message, response) {
      return yield* removeUnused(batch, yield* deleteUnnamedUses.all(message, response))
    },
  }
}

/** Prepares the deletion of those candidates that no message uses any more. */
function createUnusedBlobRemoval(db: Sql) {
  const remove = db.prepare<{ is_file: number }>(
    `DELETE FROM blobs WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE digest = ?1 AND part_encoding IS NULL)
     RETURNING is_file`,
  )
  return function* (batch: Batch, candidates: readonly { readonly digest: string }[]): Operation<void> {
    for (const { digest } of candidates) {
      // Another transaction may be storing a message with the same bytes.
      yield* batch.reserve(bytesConflict(digest))
      if ((yield* remove.get(digest))?.is_file === 1) batch.droppedFiles.push(digest)
    }
  }
}

export function createBlobLookup({ db, files }: Pick<StoreContext, 'db' | 'files'>): Pick<LookupStore, 'findBlob'> {
  const find = db.prepare<{ mime: string | null; bytes: Uint8Array; is_file: number }>(
    'SELECT mime, bytes, is_file FROM blobs WHERE digest = ?',
  )
  const findPart = createPartLookup(db, files)
  return {
    async findBlob(digest) {
      const row = await db.read(() => find.get(digest))
      if (!row) return findPart(digest)
      const bytes = row.is_file ? await files.read(digest) : row.bytes
      return { digest, mime: row.mime ?? undefined, bytes }
    },
  }
}

interface PartRow extends RawPart {
  readonly mime: string | null
  readonly encoded_bytes: Uint8Array
  /** The digest of raw bytes that are stored in a file. */
  readonly file: string | null
}

/** Prepares the search for bytes that are stored within the raw bytes of a message. */
function createPartLookup(db: Sql, files: Pick<BlobFiles, 'readRange'>): LookupStore['findBlob'] {
  // In PostgreSQL, `substr` takes positions of the type INT.
  const cutSql = (bytes: string) =>
    `substr(${bytes}, CAST(u.part_start + 1 AS INT), CAST(u.part_end - u.part_start AS INT))`
  const find = db.prepare<PartRow>(
    `SELECT u.part_encoding AS encoding, u.part_start AS start, u.part_end AS "end", u.part_mime AS mime,
       coalesce(${cutSql('m.raw')}, ${cutSql('b.bytes')}) AS encoded_bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM blob_uses u JOIN messages m ON m.seq = u.message LEFT JOIN blobs b ON b.digest = m.raw_digest
     WHERE u.digest = ? AND u.part_encoding IS NOT NULL LIMIT 1`,
  )
  return async digest => {
    const row = await db.read(() => find.get(digest))
    if (!row) return undefined
    const { encoding, start, end, mime, encoded_bytes: encodedBytes, file } = row
    const bytes = decodePart(file === null ? encodedBytes : await files.readRange(file, start, end), encoding)
    return { digest, mime: mime ?? undefined, bytes }
  }
}

/** Lists the blobs that are stored apart from the raw bytes. */
export function listSeparateBlobs(blobs: readonly LocatedBlob[]): readonly Blob[] {
  return blobs.filter(({ part }) => !part)
}

/** Creates a function that returns true if a row refers to the file with a digest. */
export function createFileReferenceCheck(db: FileSql): (digest: string) => boolean {
  const find = db.prepare('SELECT 1 FROM blobs WHERE digest = ? AND is_file = 1')
  return digest => find.get(digest) !== undefined
}

/** The size from which bytes are digested outside the event loop. */
const minOffLoopBytes = 1024 * 1024

/** Caches the digests of bytes, because one message may go to many agents. */
const digestsByBytes = new WeakMap<Uint8Array, Promise<Blob>>()

export function digestBlob(bytes: Uint8Array): Promise<Blob> {
  const digestedBlob = digestsByBytes.get(bytes)
  if (digestedBlob) return digestedBlob
  const blob = digestOffLoop(bytes)
  digestsByBytes.set(bytes, blob)
  return blob
}

async function digestOffLoop(bytes: Uint8Array): Promise<Blob> {
  if (bytes.byteLength < minOffLoopBytes) return { digest: hash('sha256', bytes), bytes }
  const digest = await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return { digest: Buffer.from(digest).toString('hex'), bytes }
}
