import type { IdentityEvidence, Sender, SenderProfile } from '@postern/core'
import { isoTime, mintTransportEvidence } from '@postern/core'
import type { NamedActivity } from './inbox/understand.ts'
import type { ProvenActivity } from './verify.ts'

/** The verified actor as the sender of a message to `recipient`. `language` (BCP 47) is what the message is written in. */
export function toSender(named: NamedActivity, recipient: string, language: string | undefined): Sender {
  const { actor, keyId } = named
  return {
    address: addressOf(named),
    ...(actor.name && { display_name: actor.name }),
    profile: toProfile(named, language),
    auth_method: 'ap-http-signature',
    verified: true,
    key_id: keyId,
    identities: toEvidence(named, recipient),
  }
}

/** A host that does not confirm the name gets this one, which no confirmed name can be; the actor's IRI is in the evidence. */
function addressOf({ address, actor }: NamedActivity): string {
  return address ?? `@~unconfirmed@${actor.host}`
}

/** One piece for the request, and a second for the document when it carries a proof of its own. */
function toEvidence({ actor, keyId, objectKeyId, receivedAt }: ProvenActivity, audience: string): IdentityEvidence[] {
  const said = {
    subject: actor.id,
    issuer: actor.host,
    assurance: 'address',
    audience,
    issuedAt: isoTime(receivedAt),
  } as const
  const byRequest = mintTransportEvidence({ ...said, method: 'ap-http-signature', keyId })
  if (!objectKeyId) return [byRequest]
  return [byRequest, mintTransportEvidence({ ...said, method: 'ap-object-integrity-proof', keyId: objectKeyId })]
}

function toProfile({ actor, address }: NamedActivity, language: string | undefined): SenderProfile {
  const { name, username, url, icon } = actor
  return {
    ...(name && { display_name: name }),
    ...(username && address && { username }),
    ...(url && { url }),
    ...(icon && { avatar: { url: icon.url, ...(icon.mediaType && { mime_type: icon.mediaType }) } }),
    ...(language && { locale: language }),
    provider: actor.host,
    provider_subject: actor.id,
  }
}
