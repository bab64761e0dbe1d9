// Replaces an unreadable value that an agent has thrown with an error that the log and the record can read.

const [maxCauses, maxInnerErrors] = [8, 100] as const

/**
 * Returns a thrown value if all its members can be read, and an error in its place otherwise. Getters may throw, and proxies may throw on any
 * access. Without this check, logging the failure would fail as well, and the turn would never end.
 */
export function toReadableError(thrown: unknown): unknown {
  try {
    readMembers(thrown, maxCauses)
    return thrown
  } catch {
    return new Error('The agent threw an error that cannot be read')
  }
}

/** Reads every member of an error that the log and the record read. */
function readMembers(thrown: unknown, depth: number): void {
  if (!(thrown instanceof Error)) {
    String(thrown)
    JSON.stringify(thrown)
    return
  }
  const { name, message, stack } = thrown
  // The log writes every enumerable member of an error.
  for (const member in thrown) void thrown[member as keyof Error]
  if (typeof message !== 'string' || typeof name !== 'string' || !['string', 'undefined'].includes(typeof stack))
    throw new TypeError('an error has text')
  const { cause } = thrown
  const errors = thrown instanceof AggregateError ? [...thrown.errors].slice(0, maxInnerErrors) : []
  if (depth <= 0) return
  for (const innerError of [cause, ...errors]) if (innerError instanceof Error) readMembers(innerError, depth - 1)
}
