import type { IdentityEvidence, Sender } from '@postern/core'
import { mintTransportEvidence } from '@postern/core'
import type { Caller } from '../auth/caller.ts'
import { readProfile } from './sender-profile.ts'

/** From the principal alone. A message's own statement about its author is only text, unless a trusted party confirms it. */
export function renderSender(
  caller: Caller,
  accepted: readonly IdentityEvidence[],
  { audience, issuedAt }: { readonly audience: string; readonly issuedAt: string },
): Sender {
  const { address, authMethod, keyId, subject, issuer } = caller
  const profile = readProfile(accepted)
  const name = profile?.display_name
  const shown = { address, ...(name && { display_name: name }), ...(profile && { profile }) }
  if (authMethod === 'none') {
    return { ...shown, auth_method: 'none', verified: false, ...(accepted.length > 0 && { identities: [...accepted] }) }
  }
  const evidence = { method: authMethod, subject, issuer, assurance: 'oauth', audience, issuedAt, keyId } as const
  return {
    ...shown,
    auth_method: authMethod,
    verified: true,
    ...(keyId && { key_id: keyId }),
    identities: [mintTransportEvidence(evidence), ...accepted],
  }
}
