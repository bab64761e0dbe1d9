// Makes of whatever an agent has thrown an error that the log and the record can read.

const [maxCauses, maxInner] = [8, 100] as const

/**
 * Returns what was thrown when it can be read, else an error that says so: a getter of it may throw, and a proxy may on every touch. Without
 * this, the log that tells of one failure would fail itself, and its turn would have no end.
 */
export function toReadableError(thrown: unknown): unknown {
  try {
    touch(thrown, maxCauses)
    return thrown
  } catch {
    return new Error('The agent threw an error that cannot be read')
  }
}

/** Reads everything that the log and the record read of an error. */
function touch(thrown: unknown, depth: number): void {
  if (!(thrown instanceof Error)) {
    String(thrown)
    JSON.stringify(thrown)
    return
  }
  const { name, message, stack } = thrown
  // The log writes each member that an error has of its own.
  for (const member in thrown) void thrown[member as keyof Error]
  if (typeof message !== 'string' || typeof name !== 'string' || !['string', 'undefined'].includes(typeof stack))
    throw new TypeError('an error has text')
  const { cause } = thrown
  const errors = thrown instanceof AggregateError ? [...thrown.errors].slice(0, maxInner) : []
  if (depth <= 0) return
  for (const inner of [cause, ...errors]) if (inner instanceof Error) touch(inner, depth - 1)
}
