import type { IdentityEvidence, Sender } from '@postern/core'
import { formatAddress, mintTransportEvidence } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { DkimSignature } from '../authenticate/dkim/classify.ts'
import { formatKeyId } from '../authenticate/proofs.ts'
import type { Voucher } from '../authenticate/verdict.ts'
import type { ProvenMail } from './mail.ts'

/** The author as agents see him, with the evidence for it. */
export function describeSender({ addresses: { author }, authentication, raw }: ProvenMail, audience: string): Sender {
  const { method, isVerified, signature, signedBy, voucher } = authentication
  const evidence = { audience, issuedAt: raw.receivedAt }
  const identities: IdentityEvidence[] = [
    ...(signature ? [mintAuthorEvidence(`mailto:${formatMailbox(author)}`, method, signature, evidence)] : []),
    ...(voucher ? [mintVouchedEvidence(`mailto:${formatMailbox(author)}`, voucher, evidence)] : []),
    ...signedBy.map(other => mintSignerEvidence(other, evidence)),
  ]
  return {
    address: formatAddress(author),
    ...(author.name && { display_name: author.name, profile: { display_name: author.name } }),
    auth_method: method,
    verified: isVerified,
    ...(signature && { key_id: formatKeyId(signature) }),
    ...(voucher && { key_id: voucher.keyId }),
    ...(identities.length > 0 && { identities }),
  }
}

interface SendingOccasion {
  readonly audience: string
  readonly issuedAt: string
}

/** `address` only when DMARC passed: the domain's policy then vouches for its own users. */
function mintAuthorEvidence(
  subject: string,
  method: 'email-dmarc' | 'email-dkim' | 'none',
  signature: DkimSignature,
  synthetic: SendingOccasion,
): IdentityEvidence {
  const isDmarc = method === 'email-dmarc'
  return mintTransportEvidence({
    ...synthetic,
    method: isDmarc ? 'email-dmarc' : 'email-dkim',
    subject,
    issuer: signature.domain,
    assurance: isDmarc ? 'address' : 'domain',
    keyId: formatKeyId(signature),
  })
}

/** Somebody whom the operator believes says so; no key of the author's domain was seen. */
function mintVouchedEvidence(
  subject: string,
  { issuer, keyId }: Voucher,
  synthetic: SendingOccasion,
): IdentityEvidence {
  return mintTransportEvidence({ ...synthetic, method: 'email-dmarc', subject, issuer, assurance: 'domain', keyId })
}

/** A good signature of somebody else's domain is evidence about that domain, never about the author. */
function mintSignerEvidence(signature: DkimSignature, synthetic: SendingOccasion): IdentityEvidence {
  const { domain } = signature
  const keyId = formatKeyId(signature)
  return mintTransportEvidence({
    ...synthetic,
    method: 'email-dkim',
    subject: domain,
    issuer: domain,
    assurance: 'domain',
    keyId,
  })
}
