// Describes a stored message as its agent reads it.

import type { NormalizedMessage } from '@postern/message'
import { toWellFormed } from '@postern/message'

/**
 * Returns a message as its agent reads it. All text is well formed, even if an earlier release or an import stored it otherwise. A getter passes on
 * the lazy `raw`, because a spread would parse bytes that few agents read.
 */
export function presentMessage(
  content: NormalizedMessage,
  members: Pick<NormalizedMessage, 'parts' | 'history' | 'policy_resolution' | 'on_behalf_of'>,
): NormalizedMessage {
  const presentedMessage: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    if (name === 'raw')
      Object.defineProperty(presentedMessage, name, {
        get: () => toWellFormed(content.raw),
        enumerable: true,
        configurable: true,
      })
    else presentedMessage[name] = toWellFormed(content[name as keyof NormalizedMessage])
  }
  return Object.assign(
    presentedMessage,
    { kind: content.kind ?? 'message' },
    toWellFormed(members),
  ) as unknown as NormalizedMessage
}
