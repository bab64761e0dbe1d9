// Adds the member `raw` to a message. The first reader loads and decodes it.
import { isUtf8 } from 'node:buffer'
import type { NormalizedMessage } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import type { BlobFiles } from '../files/blob-files.ts'
import { parseJson } from '../sql/json-columns.ts'
import { defineLazyMembers } from '../sql/lazy-members.ts'
import type { Sql } from '../sql/sql.ts'

type RawForm = Intake['raw']['form']

interface RawRow {
  readonly raw_form: RawForm
  readonly bytes: Uint8Array | null
  /** The digest of bytes that are stored in a file. */
  readonly file: string | null
}

/** Adds the member `raw` to a message. Its first reading loads and decodes the stored bytes. */
type AttachRawBytes = (number: number, message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage

export function createRawAttacher(db: Sql, { readNow }: Pick<BlobFiles, 'readNow'>): AttachRawBytes {
  // For an edited message, the query finds the raw bytes of the edit. The original bytes serve replays only.
  const find = db.prepare<RawRow>(
    `SELECT r.raw_form, coalesce(r.raw, b.bytes) AS bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM messages m JOIN messages r ON r.seq = CASE WHEN m.kind <> 'message' OR m.edited_at IS NULL THEN m.seq ELSE
       (SELECT min(l.seq) FROM messages l WHERE l.principal = m.principal AND l.object = m.object AND l.channel = m.channel
          AND l.agent = m.agent AND l.forgotten_at IS NULL AND l.edited_at IS NULL AND l.is_superseded = 0) END
     LEFT JOIN blobs b ON b.digest = r.raw_digest WHERE m.seq = ?`,
  )
  function* load(number: number) {
    const row = yield* find.get(number)
    if (!row?.bytes) return undefined
    return decodeRaw(row.file === null ? row.bytes : readNow(row.file), row.raw_form)
  }
  return (number, message) => defineLazyMembers<NormalizedMessage, 'raw'>(message, { raw: () => load(number) })
}

/** Adds the member `raw` to a message whose bytes are in memory. */
export function attachRawBytes(
  message: Omit<NormalizedMessage, 'raw'>,
  { bytes, form }: Intake['raw'],
): NormalizedMessage {
  return defineRaw(message, () => decodeRaw(bytes, form))
}

export function defineRaw(message: Omit<NormalizedMessage, 'raw'>, load: () => unknown): NormalizedMessage {
  return Object.defineProperty(message, 'raw', loadOnce(load)) as NormalizedMessage
}

function loadOnce(load: () => unknown): PropertyDescriptor {
  let cachedRaw: { readonly raw: unknown } | undefined
  const get = () => {
    cachedRaw ??= { raw: load() }
    return cachedRaw.raw
  }
  return { get, enumerable: true, configurable: true }
}

/** Decodes raw bytes. Mail may contain bytes of any charset, so bytes that are not UTF-8 are read as Latin-1. */
function decodeRaw(bytes: Uint8Array, form: RawForm): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString(isUtf8(buffer) ? 'utf8' : 'latin1')
  return form === 'json' ? parseJson(text.replace(/^\uFEFF/, '')) : text
}
