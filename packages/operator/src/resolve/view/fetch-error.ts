// Describes why a document of another host cannot be read.
import { Unavailable, Undeliverable } from '@postern/message'

/** Describes a failure of the other host. @throws any other error */
export function describeFetchError(error: unknown): string {
  if (error instanceof Unavailable || error instanceof Undeliverable) return error.message
  throw error
}
