// Builds the key that tells whether two messages have the same speaker, rights and audience.

import type { Intake } from '../ports/records/intake.ts'
import { speakingKinds } from '../ports/records/intake.ts'
import { readPersonCommand } from './person-commands.ts'

/**
 * Returns the speaker with their rights and their audience as one key. Messages with different keys are never merged, and do not interrupt each
 * other's turns. Returns undefined for events, decisions (`policy_resolution`), commands to the gateway, and messages without proof,
 * because each of these messages has a turn of its own.
 */
export function createSpeakerKey({ message, authorship, audience }: Intake): string | undefined {
  const { sender, kind = 'message', policy_resolution, recipient, recipient_capabilities } = message
  if (!speakingKinds.has(kind) || policy_resolution || !sender.verified || readPersonCommand(message)) return undefined
  const rights = (sender.identities ?? []).map(
    ({ subject, issuer, method, assurance, audience, on_behalf_of, claims }) =>
      JSON.stringify([subject, issuer, method, assurance, audience, on_behalf_of, claims]),
  )
  const speakerComponents = [sender.address, sender.auth_method, authorship?.author, rights.sort()]
  return JSON.stringify([...speakerComponents, audience, recipient, recipient_capabilities])
}
