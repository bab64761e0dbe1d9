// Identifies the speaker of a message, with their rights and their audience.

import type { Intake } from '../ports/records/intake.ts'
import { speakingKinds } from '../ports/records/intake.ts'
import { readPersonCommand } from './person-commands.ts'

/**
 * Returns the speaker with their authority and audience as one text: messages that differ in it are never merged, and do not end each other's
 * turns. Undefined for messages that stand alone: events, decisions (`policy_resolution`), commands for the gateway, and words without proof. An
 * edit has the speaker of the words that it changes.
 */
export function identifySpeaker({ message, authorship, audience }: Intake): string | undefined {
  const { sender, kind = 'message', policy_resolution, recipient, recipient_capabilities } = message
  if (!speakingKinds.has(kind) || policy_resolution || !sender.verified || readPersonCommand(message)) return undefined
  const rights = (sender.identities ?? []).map(
    ({ subject, issuer, method, assurance, audience, on_behalf_of, claims }) =>
      JSON.stringify([subject, issuer, method, assurance, audience, on_behalf_of, claims]),
  )
  const who = [sender.address, sender.auth_method, authorship?.author, rights.sort()]
  return JSON.stringify([...who, audience, recipient, recipient_capabilities])
}
