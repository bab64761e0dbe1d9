import type { SqlValue } from '../../engine/database.ts'

/** PostgreSQL keeps no NUL in a text: U+001A says that a letter follows which it keeps. */
const [nul, mark] = ['\0', '\u001A']

export function escapeText(text: string): string {
  if (!text.includes(nul) && !text.includes(mark)) return text
  return text.replaceAll(mark, `${mark}1`).replaceAll(nul, `${mark}0`)
}

export function restoreText(text: string): string {
  return text.includes(mark) ? text.replaceAll(`${mark}0`, nul).replaceAll(`${mark}1`, mark) : text
}

/** A parameter as it is sent: bytes as they are, all else as text. Numbers of the store are whole. */
export function writeValue(value: SqlValue): string | Buffer | null {
  if (value === null) return null
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(toWhole(value))
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  // As the server refuses one (data_exception): nothing was sent, and its connection is there.
  throw Object.assign(new TypeError(`a statement cannot be given ${typeof value}`), { code: '22000' })
}

/** Where a limit is infinite, or a time has a fraction. */
function toWhole(value: number): number {
  return Math.floor(Math.max(Number.MIN_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER)))
}

type Reader = (text: string) => SqlValue

/** By PostgreSQL's number of the type; everything else is text. */
const readers: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [16, text => (text === 't' ? 1 : 0)],
  [17, text => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  ...[20, 21, 23, 700, 701, 1700].map(type => [type, Number] as const),
])

export function readerOf(type: number): Reader {
  return readers.get(type) ?? restoreText
}
