// Lists stored messages from the oldest on, with the data of each that pruning may delete.
import type { Sql } from '../sql/sql.ts'

/** A message that may be old enough. Sizes are bytes. */
export interface PruneCandidate {
  readonly seq: number
  /** The time at which it arrived, ISO 8601 UTC. */
  readonly at: string
  /** True if its sender proved nothing. Also false for messages that were stored before the gateway counted bytes per sender. */
  readonly isUnproven: boolean
  readonly isOpen: boolean
  readonly rowBytes: number
  readonly rawBytes: number
  readonly fileBytes: number
  /** Digests of attachments that are stored only within the raw bytes. */
  readonly partDigests: readonly string[]
  readonly hasFiles: boolean
}

interface CandidateRow {
  readonly seq: number
  readonly at: string
  readonly stored_by: string | null
  readonly open: number
  readonly row_bytes: number
  readonly raw_bytes: number
}

interface BlobUseRow {
  readonly message: number
  readonly digest: string
  readonly bytes: number
  readonly part_encoding: string | null
  /** 1 for the raw bytes of the message. */
  readonly is_raw: 0 | 1
}

export interface CandidateList {
  /** Reads the next messages after `after` that arrived before `cutoff`, in their order. */
  read(after: number, cutoff: string, limit: number): readonly PruneCandidate[]
  /** Returns true if a worker still works on the message, or its answer is still being delivered. */
  isOpen(seq: number): boolean
}

const isOpenSql = (seq: string) => `(EXISTS (SELECT 1 FROM turns t WHERE t.message = ${seq} AND t.ended_at IS NULL)
  OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message = ${seq} AND d.ended_at IS NULL))`

export function createCandidateList(db: Sql): CandidateList {
  // The oldest messages come first. The list ends at the first message after the cutoff, because all later ones are newer.
  const selectMessages = db.prepare<CandidateRow>(
    `SELECT m.seq, m.at, m.stored_by, CASE WHEN ${isOpenSql('m.seq')} THEN 1 ELSE 0 END AS open,
       octet_length(m.content) + coalesce(octet_length(m.envelope), 0) AS row_bytes, coalesce(octet_length(m.raw), 0) AS raw_bytes
     FROM messages m WHERE m.seq > ? AND m.kind = 'message' AND m.forgotten_at IS NULL ORDER BY m.seq LIMIT +?`,
  )
  const selectBlobUses = db.prepare<BlobUseRow>(
    `SELECT u.message, u.digest, u.bytes, u.part_encoding, CASE WHEN m.raw_digest = u.digest THEN 1 ELSE 0 END AS is_raw
     FROM blob_uses u JOIN messages m ON m.seq = u.message
     WHERE u.message = ? AND (m.raw_digest = u.digest OR instr(m.content, u.digest) > 0)`,
  )
  const findOpen = db.prepare<{ open: number }>(`SELECT CASE WHEN ${isOpenSql('?1')} THEN 1 ELSE 0 END AS open`)
  return {
    read(after, cutoff, limit) {
      const rows = selectMessages.all(after, limit)
      const end = rows.findIndex(({ at }) => at >= cutoff)
      return rows.slice(0, end < 0 ? rows.length : end).map(row => toCandidate(row, selectBlobUses.all(row.seq)))
    },
    isOpen: seq => findOpen.get(seq)?.open === 1,
  }
}

function toCandidate(row: CandidateRow, uses: readonly BlobUseRow[]): PruneCandidate {
  const raw = uses.filter(({ is_raw }) => is_raw === 1)
  const files = uses.filter(({ is_raw }) => is_raw === 0)
  const partDigests = files.filter(({ part_encoding }) => part_encoding !== null).map(({ digest }) => digest)
  const sumOf = (list: readonly BlobUseRow[]) => list.reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    seq: row.seq,
    at: row.at,
    isUnproven: row.stored_by?.startsWith('u:') === true,
    isOpen: row.open === 1,
    rowBytes: row.row_bytes,
    rawBytes: row.raw_bytes + sumOf(raw),
    fileBytes: sumOf(files),
    partDigests,
    hasFiles: files.length > 0,
  }
}
