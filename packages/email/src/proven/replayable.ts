import type { AgentDirectory } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { AddressedAgent } from '../addresses/recipients.ts'
import { findRecipient } from '../addresses/recipients.ts'
import { findField } from '../mail/header-scan.ts'
import { isRecent } from './covered-mail.ts'
import type { ProvenMail } from './mail.ts'

interface ReplayJudging {
  readonly recipient: AddressedAgent
  readonly agents: AgentDirectory
}

/**
 * A valid signature holds for every copy, at any time. It shows that its author writes to this agent now only where it
 * covers a `To` with the agent, a recent `Date`, and the text or at least the subject.
 */
export function mayBeReplayed(mail: ProvenMail, { recipient, agents }: ReplayJudging): boolean {
  const { authentication, named, covered, body, raw } = mail
  if (!authentication.signature) return false
  const isNamed = named.to.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isSaid = body.text !== '' || findField(covered, 'subject') !== undefined
  return !isNamed || !isSaid || !isRecent(mail, Date.parse(raw.receivedAt))
}
