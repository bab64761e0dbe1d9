import { createHash } from 'node:crypto'
import type { AgentDirectory } from '@postern/core'
import { formatMailbox } from '../../addresses/mailbox.ts'
import { findRecipient } from '../../addresses/recipients.ts'
import { isUnread } from '../../automatic/facts.ts'
import type { ProvenMail } from '../../proven/mail.ts'

/** Further people an answer may go to. */
const maxOthers = 20

/**
 * Who else is answered with reply_all: people who stood in To and Cc of a mail whose signature covers both, so that nobody can have strangers
 * mailed; never our own agents, nor addresses behind which nobody reads. None when there are too many: that is a crowd.
 */
export function findOthers(
  { addresses, authentication, header }: ProvenMail,
  agents: AgentDirectory,
): readonly string[] {
  const { author, to, cc } = addresses
  const covers = authentication.signature?.covers ?? []
  const named = header.fields.map(({ name }) => name).filter(name => name === 'to' || name === 'cc')
  if (!authentication.isVerified || !named.every(name => covers.includes(name))) return []
  const people = [...to, ...cc].filter(mailbox => !isUnread(mailbox))
  const others = new Set(people.map(formatMailbox).filter(address => !findRecipient(address, agents)))
  others.delete(formatMailbox(author))
  return others.size > maxOthers ? [] : [...others]
}

/**
 * Who takes part decides which conversation a message can belong to: an id that somebody guessed or was shown opens nobody else's. Who is not
 * proven never meets who is. With others it is a conversation of just these people.
 */
export function scopeOf({ addresses: { author }, authentication }: ProvenMail, others: readonly string[]): string {
  const people = [formatMailbox(author), ...others].toSorted().join(',')
  const name = others.length > 0 ? `group ${createHash('sha256').update(people).digest('hex')}` : people
  return authentication.isVerified ? scopeOfMailbox(name) : `u:${name}`
}

/** Conversations of this mailbox alone, proven. */
export function scopeOfMailbox(mailbox: string): string {
  return `v:${mailbox}`
}
