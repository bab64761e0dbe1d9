// Merges several messages of one sender into the last of them.

import type { NormalizedMessage } from '@postern/message'

/** Returns the last message with the parts of all messages, in order. Its `merged` counts the parts of each earlier message. */
export function mergeMessages(
  earlierMessages: readonly NormalizedMessage[],
  lastMessage: NormalizedMessage,
): NormalizedMessage {
  if (earlierMessages.length === 0) return lastMessage
  const members = {
    parts: [...earlierMessages, lastMessage].flatMap(({ parts }) => parts),
    merged: earlierMessages.map(({ id, received_at, parts }) => ({ id, received_at, part_count: parts.length })),
  }
  // A spread would call the getter of the lazy `raw`.
  const descriptors = { ...Object.getOwnPropertyDescriptors(lastMessage), ...Object.getOwnPropertyDescriptors(members) }
  return Object.defineProperties({}, descriptors) as NormalizedMessage
}
