// Describes a stored message as its agent reads it.

import type { NormalizedMessage } from '@postern/message'
import { toWellFormed } from '@postern/message'

/**
 * Returns a message as its agent reads it. All text is well formed, even if an earlier release or an import stored malformed text. A getter passes on
 * the lazy `raw`, because a spread would parse bytes that few agents read.
 */
export function presentMessage(
  storedMessage: NormalizedMessage,
  currentMembers: Pick<NormalizedMessage, 'parts' | 'history' | 'policy_resolution' | 'on_behalf_of'>,
): NormalizedMessage {
  const presentedMessage: Record<string, unknown> = {}
  for (const name of Object.keys(storedMessage)) {
    if (name === 'raw')
      Object.defineProperty(presentedMessage, name, {
        get: () => toWellFormed(storedMessage.raw),
        enumerable: true,
        configurable: true,
      })
    else presentedMessage[name] = toWellFormed(storedMessage[name as keyof NormalizedMessage])
  }
  return Object.assign(
    presentedMessage,
    { kind: storedMessage.kind ?? 'message' },
    toWellFormed(currentMembers),
  ) as unknown as NormalizedMessage
}
