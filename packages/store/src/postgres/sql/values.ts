// Converts values between the store and PostgreSQL.
import type { SqlValue } from '../../sql/sql.ts'

/** A text of PostgreSQL cannot contain NUL. U+001A begins the escape sequence that is stored instead. */
const [nul, escapeCharacter] = ['\0', '\u001A']

export function escapeText(text: string): string {
  if (!text.includes(nul) && !text.includes(escapeCharacter)) return text
  return text.replaceAll(escapeCharacter, `${escapeCharacter}1`).replaceAll(nul, `${escapeCharacter}0`)
}

export function restoreText(text: string): string {
  return text.includes(escapeCharacter)
    ? text.replaceAll(`${escapeCharacter}0`, nul).replaceAll(`${escapeCharacter}1`, escapeCharacter)
    : text
}

/** Converts a parameter into the form that is sent. Bytes stay bytes, and everything else becomes text. The numbers of the store are integers. */
export function writeValue(value: SqlValue): string | Buffer | null {
  if (value === null) return null
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(toInteger(value))
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  // The code is the one with which the server would reject the value (data_exception). Nothing was sent, so the connection stays usable.
  throw Object.assign(new TypeError(`a statement cannot be given ${typeof value}`), { code: '22000' })
}

/** Rounds a number for an integer column, because a limit may be infinite and a time may have a fraction. */
function toInteger(value: number): number {
  return Math.floor(Math.max(Number.MIN_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER)))
}

type ReadValue = (text: string) => SqlValue

/** The readers of values by the OID of their PostgreSQL type. Values of all other types stay text. */
const readers: ReadonlyMap<number, ReadValue> = new Map<number, ReadValue>([
  [16, text => (text === 't' ? 1 : 0)],
  [17, text => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  ...[20, 21, 23, 700, 701, 1700].map(type => [type, Number] as const),
])

export function getReader(type: number): ReadValue {
  return readers.get(type) ?? restoreText
}
