import type { Intake } from '../ports/records/intake.ts'
import { speakingKinds } from '../ports/records/queue-mode.ts'
import { readPersonCommand } from './person-commands.ts'

/**
 * Who speaks, with what authority and before whom, as one text: messages that differ in it are never put together, and do not end each
 * other's turns. Undefined for what stands alone: events, decisions (`policy_resolution`), what asks something of the gateway itself, and words
 * nobody has proven to be theirs. An edit speaks as what it changes.
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
