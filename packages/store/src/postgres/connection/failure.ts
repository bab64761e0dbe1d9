// Reads the errors of PostgreSQL.
/** An error that pg throws, with the server's code (SQLSTATE) or that of the system. */
export interface PostgresFailure {
  readonly code: string | undefined
  readonly message: string
}

export function failureOf(error: unknown): PostgresFailure {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return { code: typeof code === 'string' ? code : undefined, message: String(message ?? error) }
}

export const connectionLostCode = 'LINE_LOST'
/** The code of an error about steps that were never sent. */
export const notConnectedCode = 'LINE_AWAY'

/** Returns true if the code is the server's. Those all contain a digit, while codes of the system are words, such as `EPIPE`. */
export function isSqlState(code: string): boolean {
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code)
}

/**
 * Returns true if the connection can run no further statement: it broke, or the server ends it (SQLSTATE 57P01 to 57P03; 25P03: we were idle in a
 * transaction).
 */
export function endsConnection({ code = connectionLostCode }: Pick<PostgresFailure, 'code'>): boolean {
  return !isSqlState(code) || /^(08|57P0[123]|25P03)/.test(code)
}

/** Creates the failure of a connection that was lost during a run. */
export function createConnectionLost(message: string): PostgresFailure {
  return { code: connectionLostCode, message }
}

/** Creates the failure of a run without a connection to the server. Nothing was sent. */
export function createNotConnected(): PostgresFailure {
  return { code: notConnectedCode, message: 'the server is not there' }
}
