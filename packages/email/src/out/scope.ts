// Names the participants whose conversations a mail can join.

import { createHash } from 'node:crypto'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { ReplyAddress } from './reply-address.ts'

/**
 * Returns the scope of conversations that a message can join. Its participants limit it, so a guessed or forwarded id
 * opens no conversation of others. Proven and unproven authors never share one. A conversation of several people
 * belongs to exactly these people.
 */
export function scopeOf(
  { addresses: { author }, authentication }: ProvenMail,
  { mailbox, namedBy }: ReplyAddress,
  otherRecipients: readonly string[],
): string {
  // A list or a form speaks for many. Each person has conversations of their own, as unproven as they are.
  if (namedBy) return `u:${mailbox}`
  const people = [formatMailbox(author), ...otherRecipients].toSorted().join(',')
  const name = otherRecipients.length > 0 ? `group ${createHash('sha256').update(people).digest('hex')}` : people
  return authentication.isVerified ? scopeOfMailbox(name) : `u:${name}`
}

/** Returns the scope of the proven conversations of one mailbox alone. */
export function scopeOfMailbox(mailbox: string): string {
  return `v:${mailbox}`
}
