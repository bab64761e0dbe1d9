// Renders the sender of a message from its caller and from evidence of third parties.
import type { IdentityEvidence, Sender, SenderProfile } from '@postern/message'
import { createTransportEvidence, isJsonObject } from '@postern/message'
import type { Caller } from './caller.ts'

const profileMembers = ['display_name', 'username', 'locale', 'timezone'] as const

const maxProfileChars = 200

/**
 * Renders the sender from the principal alone. A message's own statement about its author is only text, unless a
 * trusted party confirms it.
 */
export function renderSender(
  caller: Caller,
  acceptedEvidence: readonly IdentityEvidence[],
  { audience, issuedAt }: { readonly audience: string; readonly issuedAt: string },
): Sender {
  const { address, authMethod, keyId, subject, issuer, credential } = caller
  const profile = readProfile(acceptedEvidence)
  const name = profile?.display_name
  const displayFields = { address, ...(name && { display_name: name }), ...(profile && { profile }) }
  if (authMethod === 'none') {
    return {
      ...displayFields,
      auth_method: 'none',
      verified: false,
      ...(acceptedEvidence.length > 0 && { identities: [...acceptedEvidence] }),
    }
  }
  const evidence = {
    method: authMethod,
    subject,
    issuer,
    assurance: 'oauth',
    audience,
    issuedAt,
    keyId,
    credential,
  } as const
  return {
    ...displayFields,
    auth_method: authMethod,
    verified: true,
    ...(keyId && { key_id: keyId }),
    identities: [createTransportEvidence(evidence), ...acceptedEvidence],
  }
}

/**
 * Returns the profile of a person on the chat platform whose connector provides evidence (MN-2.2, MN-6.5). It reads
 * only valid evidence, and serves only for display. It returns undefined if no evidence has a profile.
 */
export function readProfile(acceptedEvidence: readonly IdentityEvidence[]): SenderProfile | undefined {
  for (const { claims = {}, subject } of acceptedEvidence) {
    const { profile, platform } = claims
    if (!isJsonObject(profile)) continue
    const profileTexts = profileMembers.flatMap(name => listProfileText(name, profile[name]))
    const provider = isJsonObject(platform) ? listProfileText('provider', platform.provider) : []
    return Object.fromEntries([...profileTexts, ...provider, ['provider_subject', subject]])
  }
  return undefined
}

function listProfileText(name: string, value: unknown): readonly (readonly [string, string])[] {
  const text =
    typeof value === 'string'
      ? value
          .replace(/\p{Cc}+/gu, ' ')
          .trim()
          .slice(0, maxProfileChars)
      : ''
  return text === '' ? [] : [[name, text]]
}
