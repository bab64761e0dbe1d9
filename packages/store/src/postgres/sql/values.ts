// Converts values between the store and PostgreSQL.
import type { SqlValue } from '../../sql/sql.ts'

/** PostgreSQL stores no NUL in a text. U+001A announces a replacement letter that it does store. */
const [nul, mark] = ['\0', '\u001A']

export function escapeText(text: string): string {
  if (!text.includes(nul) && !text.includes(mark)) return text
  return text.replaceAll(mark, `${mark}1`).replaceAll(nul, `${mark}0`)
}

export function restoreText(text: string): string {
  return text.includes(mark) ? text.replaceAll(`${mark}0`, nul).replaceAll(`${mark}1`, mark) : text
}

/** Converts a parameter for sending: bytes stay bytes, everything else becomes text. Numbers of the store are integers. */
export function writeValue(value: SqlValue): string | Buffer | null {
  if (value === null) return null
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(toInteger(value))
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  // The server would reject the value with the same code (data_exception). Nothing was sent, so the connection stays usable.
  throw Object.assign(new TypeError(`a statement cannot be given ${typeof value}`), { code: '22000' })
}

/** Rounds a number for an integer column, because a limit may be infinite and a time may have a fraction. */
function toInteger(value: number): number {
  return Math.floor(Math.max(Number.MIN_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER)))
}

type Reader = (text: string) => SqlValue

/** Readers of values by the number of their PostgreSQL type. All other values stay text. */
const readers: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [16, text => (text === 't' ? 1 : 0)],
  [17, text => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  ...[20, 21, 23, 700, 701, 1700].map(type => [type, Number] as const),
])

export function readerOf(type: number): Reader {
  return readers.get(type) ?? restoreText
}
