import type { IdentityEvidence, Sender, SenderProfile } from '@postern/core'
import { isoTime, mintTransportEvidence } from '@postern/core'
import type { ProvenActivity } from '../proofs/proven-activity.ts'
import type { NamedActivity } from './named-activity.ts'

/** The verified actor as the sender of a message to `recipient`. `language` (BCP 47) is what the message is written in. */
export function toSender(named: NamedActivity, recipient: string, language: string | undefined): Sender {
  const { actor, keyId, objectKeyId = '' } = named
  return {
    address: addressOf(named),
    ...(actor.name && { display_name: actor.name }),
    profile: toProfile(named, language),
    auth_method: keyId ? 'ap-http-signature' : 'ap-object-integrity-proof',
    verified: true,
    key_id: keyId ?? objectKeyId,
    identities: toEvidence(named, recipient),
  }
}

/** A host that does not confirm the name gets this one, which no confirmed name can be; the actor's IRI is in the evidence. */
function addressOf({ address, actor }: NamedActivity): string {
  return address ?? `@~unconfirmed@${actor.host}`
}

/** A piece for the request, unless another server signed it, and one for the document when it carries a proof of its own. */
function toEvidence({ actor, keyId, objectKeyId, receivedAt }: ProvenActivity, audience: string): IdentityEvidence[] {
  const said = {
    subject: actor.id,
    issuer: actor.host,
    assurance: 'address',
    audience,
    issuedAt: isoTime(receivedAt),
  } as const
  const mint = (method: 'ap-http-signature' | 'ap-object-integrity-proof', id: string | undefined) =>
    id ? [mintTransportEvidence({ ...said, method, keyId: id })] : []
  return [...mint('ap-http-signature', keyId), ...mint('ap-object-integrity-proof', objectKeyId)]
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
