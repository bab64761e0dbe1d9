// Describes the author of a mail as the sender of a message, with the evidence.

import type { IdentityEvidence, Sender } from '@postern/message'
import { createTransportEvidence, formatAddress } from '@postern/message'
import type { Authentication } from '../authenticate/verdict.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { formatKeyId } from '../signatures/judge-signature.ts'

interface EvidenceContext {
  readonly audience: string
  /** The time of receipt, ISO 8601 UTC. */
  readonly issuedAt: string
}

/** Describes the author as a sender, with the evidence. `context` is common to all evidence of the mail. */
export function describeAuthor(author: Mailbox, authentication: Authentication, context: EvidenceContext): Sender {
  const identities = listIdentities(author, authentication, context)
  const { method, isVerified, signature, voucher } = authentication
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

/** Lists the evidence about the author and about the domains that forwarded the mail. */
function listIdentities(
  author: Mailbox,
  { method, signature, otherSignatures, voucher }: Authentication,
  context: EvidenceContext,
): IdentityEvidence[] {
  const subject = `mailto:${formatMailbox(author)}`
  const identities: IdentityEvidence[] = []
  if (signature) {
    const evidence = { ...context, subject, issuer: signature.domain, keyId: formatKeyId(signature) }
    // The assurance is `address` only if DMARC passed, because then the domain's policy covers its own users.
    identities.push(
      method === 'email-dmarc'
        ? createTransportEvidence({ ...evidence, method, assurance: 'address' })
        : createTransportEvidence({ ...evidence, method: 'email-dkim', assurance: 'domain' }),
    )
  }
  if (voucher) {
    // A third party that the operator trusts reports the author. No key of the author's domain was seen.
    const { issuer, keyId } = voucher
    identities.push(
      createTransportEvidence({ ...context, method: 'email-dmarc', subject, issuer, assurance: 'domain', keyId }),
    )
  }
  for (const signer of otherSignatures) {
    // A valid signature of another domain is evidence about that domain, never about the author.
    const evidence = { ...context, subject: signer.domain, issuer: signer.domain, keyId: formatKeyId(signer) }
    identities.push(createTransportEvidence({ ...evidence, method: 'email-dkim', assurance: 'domain' }))
  }
  return identities
}
