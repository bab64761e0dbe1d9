// Lists stored messages, the oldest first, with the sizes of the data that pruning may delete.
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** A message that may be old enough for pruning. Sizes are in bytes. */
export interface PruneCandidate {
  readonly seq: number
  /** The time at which the message arrived, ISO 8601 UTC. */
  readonly at: string
  /** True if the sender proved nothing. False, too, for messages from before the store counted bytes per sender. */
  readonly isUnproven: boolean
  readonly isOpen: boolean
  readonly rowBytes: number
  readonly rawBytes: number
  readonly fileBytes: number
  /** The digests of attachments that are stored only within the raw bytes. */
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
  /** Lists the next messages after the number `after` that arrived before `cutoff`, in their order. */
  read(after: number, cutoff: string, limit: number): Operation<readonly PruneCandidate[]>
  /** Returns true if the turn of the message or a delivery of its answer is still open. */
  isOpen(seq: number): Operation<boolean>
}

const openMessageSql = (seq: string) => `(EXISTS (SELECT 1 FROM turns t WHERE t.message = ${seq} AND t.ended_at IS NULL)
  OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message = ${seq} AND d.ended_at IS NULL))`

export function createCandidateList(db: Sql): CandidateList {
  // The list ends at the first message after the cutoff, because all later messages are newer.
  const selectMessages = db.prepare<CandidateRow>(
    `SELECT m.seq, m.at, m.stored_by, CASE WHEN ${openMessageSql('m.seq')} THEN 1 ELSE 0 END AS open,
       octet_length(m.content) + coalesce(octet_length(m.envelope), 0) AS row_bytes, coalesce(octet_length(m.raw), 0) AS raw_bytes
     FROM messages m WHERE m.seq > ? AND m.kind = 'message' AND m.forgotten_at IS NULL ORDER BY m.seq LIMIT +?`,
  )
  const selectBlobUses = db.prepare<BlobUseRow>(
    `SELECT u.message, u.digest, u.bytes, u.part_encoding, CASE WHEN m.raw_digest = u.digest THEN 1 ELSE 0 END AS is_raw
     FROM blob_uses u JOIN messages m ON m.seq = u.message
     WHERE u.message = ? AND (m.raw_digest = u.digest OR instr(m.content, u.digest) > 0)`,
  )
  const findOpen = db.prepare<{ open: number }>(`SELECT CASE WHEN ${openMessageSql('?1')} THEN 1 ELSE 0 END AS open`)
  return {
    *read(after, cutoff, limit) {
      const rows = yield* selectMessages.all(after, limit)
      const end = rows.findIndex(({ at }) => at >= cutoff)
      return yield* mapInOrder(rows.slice(0, end < 0 ? rows.length : end), function* (row) {
        return toCandidate(row, yield* selectBlobUses.all(row.seq))
      })
    },
    *isOpen(seq) {
      return (yield* findOpen.get(seq))?.open === 1
    },
  }
}

function toCandidate(row: CandidateRow, uses: readonly BlobUseRow[]): PruneCandidate {
  const rawUses = uses.filter(({ is_raw }) => is_raw === 1)
  const fileUses = uses.filter(({ is_raw }) => is_raw === 0)
  const partDigests = fileUses.filter(({ part_encoding }) => part_encoding !== null).map(({ digest }) => digest)
  const sumBytes = (list: readonly BlobUseRow[]) => list.reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    seq: row.seq,
    at: row.at,
    isUnproven: row.stored_by?.startsWith('u:') === true,
    isOpen: row.open === 1,
    rowBytes: row.row_bytes,
    rawBytes: row.raw_bytes + sumBytes(rawUses),
    fileBytes: sumBytes(fileUses),
    partDigests,
    hasFiles: fileUses.length > 0,
  }
}
