// Makes the text of a message well formed and removes invisible characters, before any rule, agent or operator reads it.

import type { Sender } from '@postern/message'
import { invisibleFlag, readVisibleParts, readVisibleText, readVisibleValue, toWellFormed } from '@postern/message'
import type { Intake } from '../../ports/records/intake.ts'

const profileAddresses: ReadonlySet<string> = new Set(['url', 'avatar', 'provider', 'provider_subject', 'fetched_at'])

/**
 * Returns a message without invisible characters in its parts and in the names that its sender shows, and with safe names for its files. The message
 * gets the flag `invisible_characters` if there were any. Ids, addresses and evidence change only if their text is not well formed, and raw bytes stay
 * unchanged. It has no side effects.
 */
export function readVisibleIntake(rawIntake: Intake): Intake {
  const intake = toWellFormed(rawIntake)
  const { message, flags = [] } = intake
  const parts = readVisibleParts(message.parts)
  const sender = readVisibleSender(message.sender)
  if (parts.removed + sender.removed === 0 && parts.isSame) return intake
  const addedFlags = parts.removed + sender.removed > 0 && !flags.includes(invisibleFlag) ? [invisibleFlag] : []
  return {
    ...intake,
    message: { ...message, sender: sender.value, parts: [...parts.value] },
    ...(addedFlags.length > 0 && { flags: [...flags, ...addedFlags] }),
  }
}

function readVisibleSender(sender: Sender): { readonly value: Sender; readonly removed: number } {
  const { display_name, profile, ...otherMembers } = sender
  if (display_name === undefined && profile === undefined) return { value: sender, removed: 0 }
  const visibleName = readVisibleText(display_name ?? '')
  const visibleProfile = readVisibleValue(profile, { except: profileAddresses })
  const removed = visibleName.removedCount + visibleProfile.removed
  if (removed === 0) return { value: sender, removed }
  const name = visibleName.text.trim()
  const value = {
    ...otherMembers,
    ...(name && { display_name: name }),
    ...(visibleProfile.value && { profile: visibleProfile.value }),
  }
  return { value, removed }
}
