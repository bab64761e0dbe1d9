import type { IdentityEvidence, Sender } from '@postern/core'
import { formatAddress, mintTransportEvidence } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { JudgedSignature } from '../authenticate/dkim/classify.ts'
import { formatKeyId } from '../authenticate/proofs.ts'
import type { Voucher } from '../authenticate/verdict.ts'
import type { ProvenMail } from './mail.ts'

/** The author as agents see them, with the evidence. */
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

/** The data that all evidence of one mail shares. */
interface EvidenceContext {
  readonly audience: string
  readonly issuedAt: string
}

/** `address` only when DMARC passed: then the domain's policy covers its own users. */
function mintAuthorEvidence(
  subject: string,
  method: 'email-dmarc' | 'email-dkim' | 'none',
  signature: JudgedSignature,
  context: EvidenceContext,
): IdentityEvidence {
  const isDmarc = method === 'email-dmarc'
  return mintTransportEvidence({
    ...context,
    method: isDmarc ? 'email-dmarc' : 'email-dkim',
    subject,
    issuer: signature.domain,
    assurance: isDmarc ? 'address' : 'domain',
    keyId: formatKeyId(signature),
  })
}

/** A third party that the operator believes reports it; no key of the author's domain was seen. */
function mintVouchedEvidence(subject: string, { issuer, keyId }: Voucher, context: EvidenceContext): IdentityEvidence {
  return mintTransportEvidence({ ...context, method: 'email-dmarc', subject, issuer, assurance: 'domain', keyId })
}

/** A valid signature of another domain is evidence about that domain, never about the author. */
function mintSignerEvidence(signature: JudgedSignature, context: EvidenceContext): IdentityEvidence {
  const { domain } = signature
  const keyId = formatKeyId(signature)
  return mintTransportEvidence({
    ...context,
    method: 'email-dkim',
    subject: domain,
    issuer: domain,
    assurance: 'domain',
    keyId,
  })
}
