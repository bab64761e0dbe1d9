/** What pg throws: the server's code (SQLSTATE), or the system's. */
export interface PostgresFailure {
  readonly code: string | undefined
  readonly message: string
}

export function failureOf(error: unknown): PostgresFailure {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return { code: typeof code === 'string' ? code : undefined, message: String(message ?? error) }
}

export const lineLost = 'LINE_LOST'
/** Of what was never sent. */
export const lineAway = 'LINE_AWAY'

/** Whether it is the server's (each has a digit); the system's are words, such as `EPIPE`. */
export function isSqlState(code: string): boolean {
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code)
}

/** Whether no statement runs on its connection any more: it broke, or the server ends it (SQLSTATE 57P01 to 57P03; 25P03: we were idle in a transaction). */
export function endsConnection({ code = lineLost }: Pick<PostgresFailure, 'code'>): boolean {
  return !isSqlState(code) || /^(08|57P0[123]|25P03)/.test(code)
}

/** The server has gone in the middle. */
export function loseLine(message: string): PostgresFailure {
  return { code: lineLost, message }
}

/** The server is not there now, or not any more: nothing was sent. */
export function missLine(): PostgresFailure {
  return { code: lineAway, message: 'the server is not there' }
}
