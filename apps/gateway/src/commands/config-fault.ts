import { ConfigError } from '@postern/core'

/** Whether the configuration is to blame, or what it names. */
export function isConfigFault(error: unknown): error is ConfigError | AggregateError {
  return listConfigFaults(error).length > 0
}

export function listConfigFaults(error: unknown): readonly ConfigError[] {
  if (error instanceof ConfigError) return [error]
  return error instanceof AggregateError ? error.errors.flatMap(listConfigFaults) : []
}
