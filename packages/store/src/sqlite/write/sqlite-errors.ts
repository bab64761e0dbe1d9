// Maps errors of SQLite to errors of the store.
import { Unavailable } from '@postern/message'

/** Returns the primary result code of an error of SQLite, or undefined for other errors. */
export function primaryCodeOf(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

/** The codes of temporary errors. They are busy, locked, read-only, I/O, full and cannot open. */
const transientCodes: ReadonlySet<number> = new Set([5, 6, 8, 10, 13, 14])
const [corrupt, notADatabase] = [11, 26]
/** The code of a page that is missing in the file (`SQLITE_IOERR_SHORT_READ`). */
const shortRead = 522

/** Returns true if the error means that the database file is damaged. */
export function isDamage(error: unknown): boolean {
  const code = primaryCodeOf(error)
  return code === corrupt || code === notADatabase || (error as { readonly errcode?: number }).errcode === shortRead
}

/** Converts an error of SQLite into the error that callers of the store handle, and returns any other error unchanged. */
export function toStoreError(error: unknown): unknown {
  if (isDamage(error)) return refuseDamaged(error)
  const code = primaryCodeOf(error)
  if (code === undefined || !transientCodes.has(code)) return error
  return new Unavailable('Cannot store: the database does not take writes now', { cause: error, retryAfter: 5 })
}

export function refuseDamaged(cause?: unknown): Unavailable {
  return new Unavailable('Cannot store: the database is damaged', { cause, retryAfter: 60 })
}
