// Computes the scope of the conversations that a mail can join, from the participants.

import { createHash } from 'node:crypto'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { ReplyAddress } from './reply-address.ts'

/**
 * Returns the scope of conversations that a message can join. The participants limit the scope, so a guessed or
 * forwarded id opens no conversation of other people. Proven and unproven authors never share a scope. A conversation
 * of several people belongs to exactly these people.
 */
export function scopeOf(
  { addresses: { author }, authentication }: ProvenMail,
  { mailbox, namedBy }: ReplyAddress,
  otherRecipients: readonly string[],
): string {
  // A list or a form writes for many people. Each person has separate conversations, and is unproven.
  if (namedBy) return `u:${mailbox}`
  const people = [formatMailbox(author), ...otherRecipients].toSorted().join(',')
  const name = otherRecipients.length > 0 ? `group ${createHash('sha256').update(people).digest('hex')}` : people
  return authentication.isVerified ? scopeOfMailbox(name) : `u:${name}`
}

/** Returns the scope of the proven conversations of one mailbox alone. */
export function scopeOfMailbox(mailbox: string): string {
  return `v:${mailbox}`
}
