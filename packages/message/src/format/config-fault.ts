// Distinguishes errors in the configuration from other errors.
import { ConfigError } from './errors.ts'

/** Returns true if the configuration, or a file that it names, caused an error. */
export function isConfigFault(error: unknown): error is ConfigError | AggregateError {
  return listConfigFaults(error).length > 0
}

export function listConfigFaults(error: unknown): readonly ConfigError[] {
  if (error instanceof ConfigError) return [error]
  return error instanceof AggregateError ? error.errors.flatMap(listConfigFaults) : []
}
