import { Unavailable } from '@postern/core'

/** What SQLite says went wrong, as its primary result code; undefined for errors of others. */
export function primaryCodeOf(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

/** Busy, locked, read-only, I/O, full, cannot open: time or an operator heals them. */
const passingCodes: ReadonlySet<number> = new Set([5, 6, 8, 10, 13, 14])
const [corrupt, notADatabase] = [11, 26]
/** A page that has to be there is not (`SQLITE_IOERR_SHORT_READ`). */
const shortRead = 522

/** The file does not hold what was written to it. */
export function isDamage(error: unknown): boolean {
  const code = primaryCodeOf(error)
  return code === corrupt || code === notADatabase || (error as { readonly errcode?: number }).errcode === shortRead
}

/** An error of the engine as those know it who call the store; any other as it is. */
export function toStoreError(error: unknown): unknown {
  if (isDamage(error)) return refuseDamaged(error)
  const code = primaryCodeOf(error)
  if (code === undefined || !passingCodes.has(code)) return error
  return new Unavailable('Cannot store: the database does not take writes now', { cause: error, retryAfter: 5 })
}

export function refuseDamaged(cause?: unknown): Unavailable {
  return new Unavailable('Cannot store: the database is damaged', { cause, retryAfter: 60 })
}
