// Reads a message again from its row, whatever an agent has changed in its own copy.
import type { NormalizedMessage } from '@postern/message'

/** The key of the function that reads a message again. Agents may change the message that they get. */
export const storedReaderKey = Symbol('as stored')

interface StoredReader {
  [storedReaderKey]?: (() => NormalizedMessage) | undefined
}

/** Returns the function that reads a message again from its row. Merged messages and messages whose row has changed have none. */
export function findStoredReader(message: NormalizedMessage): (() => NormalizedMessage) | undefined {
  return (message as StoredReader)[storedReaderKey]
}

/** Drops the function that reads a message again, because its row has changed. */
export function dropStoredReader(message: NormalizedMessage): void {
  Object.defineProperty(message, storedReaderKey, { value: undefined })
}
