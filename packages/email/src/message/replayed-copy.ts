// Recognizes copies of a proven mail that somebody else may have sent to this agent.

import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { findField } from '../mail/header.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { AddressedAgent } from '../mail/recipients.ts'
import { findRecipient } from '../mail/recipients.ts'
import { applyCoverage } from '../signatures/coverage.ts'
import { isRecent } from '../signatures/recent-date.ts'

/**
 * Returns true if a mail may be a replayed copy. A proof is valid for every copy of the mail, at any time. It shows
 * that the author writes to this agent now only if it covers a `To` with the agent, a recent `Date`, and the text or at
 * least the subject.
 */
export function mayBeReplayed(mail: ProvenMail, recipient: AddressedAgent, agents: AgentDirectory): boolean {
  const { authentication, header, addresses, body, raw } = mail
  if (!authentication.isVerified) return false
  const { signedHeader, signedRecipients } = applyCoverage(header, addresses, authentication.timingCoverage)
  const isNamed = signedRecipients.to.some(
    mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent,
  )
  const hasSignedText = body.text !== '' || findField(signedHeader, 'subject') !== undefined
  return !isNamed || !hasSignedText || !isRecent(signedHeader, Date.parse(raw.receivedAt))
}
