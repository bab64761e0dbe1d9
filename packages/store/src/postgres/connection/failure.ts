// Classifies the errors of PostgreSQL and of its connections.
/** An error that pg throws, with the code of the server (SQLSTATE) or of the operating system. */
export interface PostgresFailure {
  readonly code: string | undefined
  readonly message: string
}

export function toPostgresFailure(error: unknown): PostgresFailure {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return { code: typeof code === 'string' ? code : undefined, message: String(message ?? error) }
}

export const connectionLostCode = 'LINE_LOST'
/** The code of an error about steps that were never sent. */
export const notConnectedCode = 'LINE_AWAY'

/** Returns true if the server sent the code. Codes of the server contain a digit, while codes of the system are words, such as `EPIPE`. */
export function isSqlState(code: string): boolean {
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code)
}

/**
 * Returns true if the connection can run no further statement. The connection was lost, or the server closes it (SQLSTATE 57P01 to 57P03, or 25P03 for
 * a transaction that was idle for too long).
 */
export function endsConnection({ code = connectionLostCode }: Pick<PostgresFailure, 'code'>): boolean {
  return !isSqlState(code) || /^(08|57P0[123]|25P03)/.test(code)
}

/** Creates the failure of a connection that was lost during a run. */
export function createConnectionLostFailure(message: string): PostgresFailure {
  return { code: connectionLostCode, message }
}

/** Creates the failure of a run without a connection to the server. Nothing was sent. */
export function createNotConnectedFailure(): PostgresFailure {
  return { code: notConnectedCode, message: 'the server is not reachable' }
}
