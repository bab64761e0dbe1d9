// Merges several messages of one sender into the last of them.

import type { NormalizedMessage } from '@postern/message'

/** Returns the last of several messages with the parts of all, in order. `merged` says how many parts belong to each earlier message. */
export function mergeMessages(earlier: readonly NormalizedMessage[], last: NormalizedMessage): NormalizedMessage {
  if (earlier.length === 0) return last
  const members = {
    parts: [...earlier, last].flatMap(({ parts }) => parts),
    merged: earlier.map(({ id, received_at, parts }) => ({ id, received_at, part_count: parts.length })),
  }
  // A spread would call the getter of the lazy `raw`.
  const described = { ...Object.getOwnPropertyDescriptors(last), ...Object.getOwnPropertyDescriptors(members) }
  return Object.defineProperties({}, described) as NormalizedMessage
}
