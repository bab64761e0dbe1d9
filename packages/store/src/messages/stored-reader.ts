// Attaches a function to a message that reads it again from its row, because an agent may change its copy.
import type { NormalizedMessage } from '@postern/message'

/** The key under which a message has the function that reads it again. */
export const storedReaderKey = Symbol('as stored')

interface StoredReader {
  [storedReaderKey]?: (() => NormalizedMessage) | undefined
}

/** Returns the function that reads a message again from its row. Merged messages, and messages whose row has changed, have no such function. */
export function findStoredReader(message: NormalizedMessage): (() => NormalizedMessage) | undefined {
  return (message as StoredReader)[storedReaderKey]
}

/** Drops the function that reads a message again, because its row has changed. */
export function dropStoredReader(message: NormalizedMessage): void {
  Object.defineProperty(message, storedReaderKey, { value: undefined })
}
