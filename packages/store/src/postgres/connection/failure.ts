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

/** The server is not there now, or has gone in the middle. */
export function loseLine(message: string): PostgresFailure {
  return { code: lineLost, message }
}
