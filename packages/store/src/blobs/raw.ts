import { Buffer, isUtf8 } from 'node:buffer'
import type { Intake, NormalizedMessage } from '@postern/core'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'

type RawForm = Intake['raw']['form']

interface RawRow {
  readonly raw_form: RawForm
  readonly bytes: Uint8Array | null
  /** Digest of bytes that lie in a file. */
  readonly file: string | null
}

/** A message without its `raw` → the message whose `raw` is rebuilt from the stored bytes when it is first read. */
type AttachRaw = (number: number, message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage

export function createRawAttacher(db: Database, { readNow }: Pick<BlobFiles, 'readNow'>): AttachRaw {
  const find = prepareQuery<RawRow>(
    db,
    `SELECT m.raw_form, coalesce(m.raw, b.bytes) AS bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM messages m LEFT JOIN blobs b ON b.digest = m.raw_digest WHERE m.seq = ?`,
  )
  const load = (number: number) => {
    const row = find.get(number)
    if (!row?.bytes) return undefined
    return decodeRaw(row.file === null ? row.bytes : readNow(row.file), row.raw_form)
  }
  return (number, message) => defineRaw(message, () => load(number))
}

/** As `AttachRaw`, of bytes that are at hand. */
export function attachRawBytes(
  message: Omit<NormalizedMessage, 'raw'>,
  { bytes, form }: Intake['raw'],
): NormalizedMessage {
  return defineRaw(message, () => decodeRaw(bytes, form))
}

function defineRaw(message: Omit<NormalizedMessage, 'raw'>, load: () => unknown): NormalizedMessage {
  return Object.defineProperty(message, 'raw', rememberFirst(load)) as NormalizedMessage
}

function rememberFirst(load: () => unknown): PropertyDescriptor {
  let loaded: { readonly raw: unknown } | undefined
  const get = () => {
    loaded ??= { raw: load() }
    return loaded.raw
  }
  return { get, enumerable: true, configurable: true }
}

/** Mail may hold octets of any charset: what is no UTF-8 is shown octet by octet. */
function decodeRaw(bytes: Uint8Array, form: RawForm): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString(isUtf8(buffer) ? 'utf8' : 'latin1')
  return form === 'json' ? parseJson(text.replace(/^\uFEFF/, '')) : text
}
