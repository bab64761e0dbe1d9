// Finds the further recipients of a reply to all.

import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isUnattended } from '../automatic/unattended-mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { findRecipient } from '../mail/recipients.ts'

/** The maximum number of further people to whom a response may go. */
const maxOtherRecipients = 20

/**
 * Returns the further recipients with `reply_all`: people in To and Cc of a signed mail. The proof has to cover both
 * fields, so that nobody can make the gateway mail strangers. The function omits local agents and addresses that nobody
 * reads. It returns nobody if there are more than `maxOtherRecipients`.
 */
export function findOtherRecipients(
  { addresses, authentication, header }: ProvenMail,
  agents: AgentDirectory,
): readonly string[] {
  const { author, to, cc } = addresses
  const { coverage } = authentication
  const covers = authentication.signature && coverage !== 'all' ? coverage : []
  const addressFields = header.fields.map(({ name }) => name).filter(name => name === 'to' || name === 'cc')
  if (!authentication.isVerified || !addressFields.every(name => covers.includes(name))) return []
  const people = [...to, ...cc].filter(mailbox => !isUnattended(mailbox))
  const otherAddresses = new Set(people.map(formatMailbox).filter(address => !findRecipient(address, agents)))
  otherAddresses.delete(formatMailbox(author))
  return otherAddresses.size > maxOtherRecipients ? [] : [...otherAddresses]
}
