// Describes an error that a check or a start of the gateway met.

/** Returns the message of an error. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return describeError(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
