import { Buffer, isUtf8 } from 'node:buffer'
import type { DatabaseSync } from 'node:sqlite'
import type { Intake, NormalizedMessage } from '@postern/core'
import { parseJson, prepareQuery } from './database.ts'

type RawForm = Intake['raw']['form']

interface RawRow {
  readonly raw_form: RawForm
  readonly bytes: Uint8Array | null
}

/** A message without its `raw` → the message whose `raw` is rebuilt from the stored bytes when it is first read. */
export type AttachRaw = (number: number, message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage

export function createRawAttacher(db: DatabaseSync): AttachRaw {
  const find = prepareQuery<RawRow>(
    db,
    `SELECT raw_form, coalesce(raw, (SELECT bytes FROM blobs WHERE digest = raw_digest)) AS bytes
     FROM messages WHERE number = ?`,
  )
  const load = (number: number) => {
    const row = find.get(number)
    return row?.bytes ? decodeRaw(row.bytes, row.raw_form) : undefined
  }
  return (number, message) =>
    Object.defineProperty(
      message,
      'raw',
      rememberFirst(() => load(number)),
    ) as NormalizedMessage
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
