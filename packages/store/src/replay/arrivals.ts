import type { ReplayStore } from '@postern/core'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'

interface ArrivalRow {
  readonly arrival: string | null
  readonly target: string
  readonly bytes: Uint8Array | null
  /** Digest of bytes that lie in a file. */
  readonly file: string | null
}

export function createArrivalLookup(
  db: Database,
  { readNow }: Pick<BlobFiles, 'readNow'>,
): Pick<ReplayStore, 'findArrival'> {
  const find = prepareQuery<ArrivalRow>(
    db,
    `SELECT m.arrival, m.target, coalesce(m.raw, b.bytes) AS bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM messages m LEFT JOIN blobs b ON b.digest = m.raw_digest WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const listMerged = prepareQuery<{ message: number }>(
    db,
    'SELECT message FROM turns WHERE merged_into = ? ORDER BY message',
  )
  return {
    async findArrival(number) {
      const row = find.get(number)
      if (!row) return undefined
      return {
        number,
        arrival: row.arrival === null ? undefined : parseJson(row.arrival),
        raw: (row.file === null ? row.bytes : readNow(row.file)) ?? undefined,
        target: parseJson(row.target),
        merged: listMerged.all(number).map(({ message }) => message),
      }
    },
  }
}
