// Distinguishes automatic replies of mailboxes from reports of servers.
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { isUnattended } from './unattended-mailbox.ts'

/**
 * The flags that an automatic reply may have. Vacation notices go to the envelope sender, and their own envelope sender
 * is empty (RFC 3834 §4, RFC 5230 §5).
 */
const autoReplyFlags: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bounce', 'bounce_address'])

/** Returns true if a mail is an automatic reply of some mailbox, and not a report or a mail of this gateway. */
export function isAutoReply({ header, addresses }: ProvenMail, noAnswerFlags: readonly string[]): boolean {
  const isFromServer = findField(header, 'x-failed-recipients') !== undefined || isUnattended(addresses.author)
  return (
    noAnswerFlags.includes('auto_reply') &&
    noAnswerFlags.every(flag => autoReplyFlags.has(flag)) &&
    !isReport(header) &&
    !isFromServer
  )
}

/** Returns true if the content type marks a mail as a report of a server about another mail (RFC 6522). */
export function isReport(header: HeaderBlock): boolean {
  return /^multipart\/report\b/i.test(findField(header, 'content-type') ?? '')
}
