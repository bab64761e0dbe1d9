// Limits the size of the state that an agent stores for a conversation or a person.
import type { Json } from '@postern/message'

/** The maximum size of the state of one conversation or person, in bytes of JSON. */
const maxStateBytes = 4 * 1024 * 1024

/** Returns a state that is small enough to store. @throws Error if it is too large */
export function checkState(state: Json | undefined, ownerName: string): Json | undefined {
  if (state === undefined || (typeof state !== 'object' && typeof state !== 'string')) return state
  const bytes = Buffer.byteLength(JSON.stringify(state))
  if (bytes > maxStateBytes)
    throw new Error(`Cannot keep the state of ${ownerName}: it has ${bytes} bytes as JSON, more than ${maxStateBytes}`)
  return state
}
